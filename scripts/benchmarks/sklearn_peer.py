"""scikit-learn: an MLPClassifier a member of a pack under joblib, on all cores. Prints the best accuracy of the members.

usage: sklearn_peer.py PACK
"""

import json
import sys
import warnings

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from work import PACKS, data, rates

work = PACKS[sys.argv[1]]
(x, y), (test_x, test_y) = data(work)


def member(rate):
    model = MLPClassifier(
        work.sizes[1:-1], solver="adam" if work.adam else "sgd", learning_rate_init=float(rate), batch_size=work.batch,
        max_iter=work.epochs, alpha=0, momentum=0, nesterovs_momentum=False, n_iter_no_change=work.epochs + 1,
        random_state=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(x, y).score(test_x, test_y)


best = max(Parallel(n_jobs=-1)(delayed(member)(rate) for rate in rates(work)))
print(json.dumps({"peer": "scikit-learn, joblib", "quality": best}))
