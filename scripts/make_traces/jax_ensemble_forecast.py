"""Ensemble forecast with the Lorenz-96 model (diffrax + equinox), which keeps every step of the solver and fails
on a GPU whose pool is small; `programs.json` of its bundle is the sample jax-0.11-gpu-ensemble.

    XLA_PYTHON_CLIENT_MEM_FRACTION=.03 tfmemlens run --trace --out DIR -- python forecast.py
"""
import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp

SITES = 512
MEMBERS = 256
SPIN_UP = 5.0
LEAD_TIME = 2.0
SPREAD = 0.01


class Lorenz96(eqx.Module):
    forcing: jax.Array

    def __call__(self, t, x, args):
        ahead, behind, further = jnp.roll(x, -1), jnp.roll(x, 1), jnp.roll(x, 2)
        return (ahead - further) * behind - x + self.forcing


class Forecaster(eqx.Module):
    system: Lorenz96
    rtol: float = 1e-4
    atol: float = 1e-5

    def solve(self, x0, t1, saveat):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(self.system),
            diffrax.Tsit5(),
            t0=0.0,
            t1=t1,
            dt0=0.01,
            y0=x0,
            saveat=saveat,
            stepsize_controller=diffrax.PIDController(rtol=self.rtol, atol=self.atol),
            max_steps=16384,
        )


@eqx.filter_jit
def spin_up(forecaster, x0):
    return forecaster.solve(x0, SPIN_UP, diffrax.SaveAt(t1=True)).ys[-1]


@eqx.filter_jit
def forecast(forecaster, members):
    def one(x0):
        solution = forecaster.solve(x0, LEAD_TIME, diffrax.SaveAt(steps=True))
        return solution.ts, solution.ys, solution.stats["num_accepted_steps"]

    return jax.vmap(one)(members)


def summary(ts, states, accepted):
    last = accepted - 1
    end = jax.vmap(lambda y, i: y[i])(states, last)
    path_max = jnp.max(jnp.where(jnp.isfinite(states), states, -jnp.inf), axis=(1, 2))
    return end.mean(axis=0), end.std(axis=0), path_max


def main():
    forecaster = Forecaster(Lorenz96(jnp.array(8.0)))
    start_key, noise_key = jax.random.split(jax.random.key(0))
    x0 = 8.0 + 0.1 * jax.random.normal(start_key, (SITES,))
    analysis = spin_up(forecaster, x0)
    print("analysis mean", float(analysis.mean()), "std", float(analysis.std()))

    members = analysis + SPREAD * jax.random.normal(noise_key, (MEMBERS, SITES))
    ts, states, accepted = forecast(forecaster, members)
    print("steps taken", int(accepted.min()), "to", int(accepted.max()))

    mean, spread, path_max = summary(ts, states, accepted)
    print("forecast spread", float(spread.mean()), "largest value", float(path_max.max()))


if __name__ == "__main__":
    main()
