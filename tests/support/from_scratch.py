"""Helpers of the tests of from scratch."""

from tests.support.paths import ROOT

CONTENT = ROOT
