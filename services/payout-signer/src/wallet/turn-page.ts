/** Where a driver is on its way round over the payouts that wait to be authorised. */
export interface RequestPage {
  /** The payout behind which requested ones are looked for, while those before it wait for something. */
  requestedAfter: string | undefined;
  /** Whether the first round over everything that waits is still under way: the policy may be another one than before. */
  isFirstRound: boolean;
}

/** What came of a look at a page: some were authorised or refused; some wait for nothing but their turn; neither. */
export type PageOutcome = 'WRITTEN' | 'TURNS' | 'NOTHING';

/**
 * A page full of payouts of which none can be authorised now must not hide those behind it: the next pass looks there, and so
 * on to the end and round. While some wait for nothing but their turn, the oldest keep it. Those that nobody looked at yet
 * are on no page: they are never hidden.
 * @returns whether to look at the next page at once: in the first round of this process alone, later rounds take their time
 */
export function turnPage(
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
