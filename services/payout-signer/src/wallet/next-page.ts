export interface RequestPage {
  /** Requested payouts are read from behind this one, while those before it wait. */
  requestedAfter: string | undefined;
  /** During the first round over all waiting payouts the policy may have changed since the last process. */
  isFirstRound: boolean;
}

/** WRITTEN: some were authorised or refused. TURNS: some only wait for a free slot. */
export type PageOutcome = 'WRITTEN' | 'TURNS' | 'NOTHING';

/**
 * A full page of payouts that cannot be authorised now must not hide those behind it. While some only wait for a free
 * slot, the oldest keep their turn. Returns whether to read the next page at once: in the first round only.
 */
export function nextRequestPage(
  memory: RequestPage,
  { pageEnd }: { readonly pageEnd: string | null },
  outcome: PageOutcome,
): boolean {
  const keeps = outcome === 'TURNS' || outcome === 'WRITTEN';
  const isFirst = memory.isFirstRound && !keeps;
  memory.requestedAfter = keeps ? undefined : (pageEnd ?? undefined);
  if (pageEnd === null && !keeps) memory.isFirstRound = false;
  return isFirst && pageEnd !== null;
}
