"""The lists of payload classes and record mergers in `data/payload_classes` equal those of Hudi's bundles.

It needs no Spark; it is here because CI has Hudi's jar in this suite.
"""

import pytest

from support.hudi import fetch_hudi
from support.hudi.payload_classes import RELEASES, listed_classes, shipped_classes


@pytest.mark.parametrize("release", RELEASES)
def test_the_list_equals_that_of_the_jar(release):
    jar = fetch_hudi.jar(release)
    if jar is None:
        pytest.skip(
            f"no jar of Hudi {release}: python tests/support/hudi/fetch_hudi.py {release} fetches it with Maven"
        )
    assert shipped_classes(jar) == listed_classes(release)
