import type { Chain } from '@opentill/domain/chains';
import type { CheckResult } from '@opentill/runtime/health';
import type { ChainFigures } from './chain-figures.ts';

/** Twenty times the limit of `/readyz`, so that a chain is unready long before its process is restarted. */
export const RESTART_AFTER_MS = 600_000;

/**
 * The process should be restarted when a chain's rounds no longer end, or when no chain had a successful round for
 * RESTART_AFTER_MS. While some chains succeed, a failing one is not worth the interruption of the others. A chain that
 * is left out or halted does not count, since a restart cannot help it.
 */
export function livenessOf(figures: ReadonlyMap<Chain, ChainFigures>, nowMs: number): CheckResult {
  const isOld = (atMs: number): boolean => nowMs - atMs > RESTART_AFTER_MS;
  const scanned = [...figures].filter(
    ([, { network, leftOut }]) => network !== undefined && leftOut === undefined,
  );
  const hung = scanned.filter(([, figure]) =>
    isOld(Math.max(lastSuccessMs(figure), figure.failedAtMs ?? -Infinity)),
  );
  if (hung.length > 0) return { ok: false, detail: `no round ended for 10 min: ${namesOf(hung)}` };
  const counted = scanned.filter(([, { halted }]) => halted === undefined);
  const isStalled = counted.length > 0 && counted.every(([, figure]) => isOld(lastSuccessMs(figure)));
  return isStalled
    ? { ok: false, detail: `no successful round for 10 min: ${namesOf(counted)}` }
    : { ok: true };
}

function lastSuccessMs({ tickedAtMs, watchedAtMs }: ChainFigures): number {
  return tickedAtMs ?? watchedAtMs;
}

function namesOf(chains: readonly (readonly [Chain, ChainFigures])[]): string {
  return chains.map(([chain]) => chain).join(', ');
}
