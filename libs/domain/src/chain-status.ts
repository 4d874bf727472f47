/** States that a service reports of a chain. */
export const CHAIN_STATES = ['STARTING', 'RUNNING', 'FAILING', 'PAUSED', 'LEFT_OUT', 'HALTED'] as const;

/**
 * - `STARTING`: the start-up checks or the first round are still running.
 * - `FAILING`: no round succeeded for 30 seconds, or the head is too old. Retried.
 * - `PAUSED`: an operator paused the chain.
 * - `LEFT_OUT`: the chain failed its start-up checks. Checked again, with back-off.
 * - `HALTED`: the chain needs an operator's decision.
 */
export type ChainState = (typeof CHAIN_STATES)[number];

/** State of a chain, in the words that `/readyz`, the ops API and the CLI share. */
export interface ChainStatus {
  readonly state: ChainState;
  /** Error code; null while nothing is wrong. */
  readonly reason: string | null;
  /** For operators. No secrets. */
  readonly detail: string | null;
}

/** Whether payouts of a chain in this state wait with the obstacle `CHAIN_HALTED`. */
export function stopsPayouts(state: ChainState): boolean {
  return state === 'HALTED' || state === 'LEFT_OUT';
}

/** For example `halted: REORG_TOO_DEEP: the chain forked below every stored block`. */
export function chainStatusText({
  state,
  reason,
  detail,
}: {
  readonly state: string;
  readonly reason: string | null;
  readonly detail: string | null;
}): string {
  return [state.toLowerCase().replaceAll('_', ' '), reason, detail]
    .filter((part) => part !== null)
    .join(': ');
}
