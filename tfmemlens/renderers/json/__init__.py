"""JSON documents, which are contracts: additions are fine, renames are not. `schemas/` has their schemas."""

from __future__ import annotations

SUFFIX = ".json"
OPTIONS = {
    "report": "print the report as JSON (schema tfmemlens.report/1)",
    "difference": "print JSON (schema tfmemlens.diff/1)",
    "convolution": "print JSON (schema tfmemlens.convolution/1)",
    "causes": "print JSON (schema tfmemlens.fleet-top/1)",
    "new_causes": "print JSON (schema tfmemlens.fleet-diff/1)",
    "fleet_scan": "print JSON (schema tfmemlens.fleet-scan/1)",
}
