import type { DepositAsset, DepositPage, DepositPosition } from './store/sweep-facts.ts';

export interface RoundMemory {
  /** Balances behind this one are read next; undefined: from the oldest on. */
  after: DepositPosition | undefined;
  /** Operators' requests, and the number of sweeps begun for them. */
  run?: { readonly requests: readonly number[]; begun: number } | undefined;
}

/** A run goes once over all deposit balances. A new request begins at the oldest. */
export function startRun(memory: RoundMemory, requests: readonly number[]): void {
  if (requests.length === 0) memory.run = undefined;
  else if (requests.some((request) => memory.run?.requests.includes(request) !== true)) {
    memory.run = { requests, begun: memory.run?.begun ?? 0 };
    memory.after = undefined;
  }
}

/**
 * A round prices a bounded number of assets. Those that are never worth their cost must not hide others, so the next
 * round continues behind them. `keeps`: assets that began now, or are next because there was no room.
 */
export function nextDepositPage(
  memory: RoundMemory,
  page: DepositPage,
  keeps: ReadonlySet<DepositAsset>,
): void {
  const next = page.deposits.findIndex((one) => keeps.has(one));
  if (next > 0) memory.after = page.deposits[next - 1]?.position;
  if (next === -1) memory.after = page.isLast ? undefined : page.deposits.at(-1)?.position;
}
