export const CHAIN_STATES = ['STARTING', 'RUNNING', 'FAILING', 'PAUSED', 'LEFT_OUT', 'HALTED'] as const;

/**
 * FAILING: no round succeeded for 30 seconds, or the head is too old. LEFT_OUT: the chain failed its start-up checks,
 * which are repeated with back-off. HALTED: the chain needs an operator's decision.
 */
export type ChainState = (typeof CHAIN_STATES)[number];

export interface ChainStatus {
  readonly state: ChainState;
  readonly reason: string | null;
  /** For operators. No secrets. */
  readonly detail: string | null;
}

/** Such payouts wait with the obstacle `CHAIN_HALTED`. */
export function stopsPayouts(state: ChainState): boolean {
  return state === 'HALTED' || state === 'LEFT_OUT';
}

/** Example: `halted: REORG_TOO_DEEP: the chain forked below every stored block`. */
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

/** `NOT_SCANNED`: no scanner holds the chain. */
export const SHOWN_CHAIN_STATES = [...CHAIN_STATES, 'NOT_SCANNED'] as const;

export interface ShownChainStatus {
  readonly state: (typeof SHOWN_CHAIN_STATES)[number];
  readonly reason: string | null;
  readonly detail: string | null;
  readonly since: Date | null;
}

export interface ChainReports {
  readonly scanner: (ChainStatus & { readonly since: Date }) | undefined;
  readonly signer: (ChainStatus & { readonly since: Date }) | undefined;
  readonly pause: { readonly reason: string; readonly since: Date } | undefined;
  readonly isScanned: boolean;
}

/** Priority: a state that stops payouts, then an operator's pause, then the scanner's report. */
export function mergeChainReports({ scanner, signer, pause, isScanned }: ChainReports): ShownChainStatus {
  const stopping = [scanner, signer].find((report) => report !== undefined && stopsPayouts(report.state));
  if (stopping !== undefined) return stopping;
  if (pause !== undefined) return { state: 'PAUSED', reason: null, detail: pause.reason, since: pause.since };
  if (!isScanned) return { state: 'NOT_SCANNED', reason: null, detail: null, since: null };
  // The scanner has not noticed yet that the operator resumed the chain.
  const isResumed = scanner?.state === 'PAUSED';
  if (scanner === undefined || isResumed)
    return { state: 'STARTING', reason: null, detail: null, since: null };
  return scanner;
}
