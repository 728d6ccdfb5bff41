# Right; written in a very unusual format.
# of: prefix-sum
# family: right: unusual text
# verdict: passed
import torch ;  F=torch.flip

def prefix_sum (x ,reverse = False ) :
                    c = lambda t : t . cumsum ( - 1 ) ; r = \
  reverse ; return ( ( ( c ( x ) ) ) ) if not r else F( c( F(
x,[ -1 ]
    ) ) ,  # upside down
        [~0])
