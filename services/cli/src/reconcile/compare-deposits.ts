import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { AddressDifference, Anchor, Books, OnChain } from './books.ts';
import type { Difference, Line } from './difference.ts';
import { shownAmount } from './shown-amount.ts';

/** Blocks come faster than they usually do: the range to read again begins this much earlier than reckoned. */
const RESCAN_MARGIN = 1.25;

/**
 * The deposit accounts against the addresses, asset by asset. `more`: what all addresses together have more than came
 * in, undefined where two sources differ. Pure.
 */
export function depositLines(books: Books, more: ReadonlyMap<string, OnChain>): readonly Line[] {
  return books.assets.flatMap(({ symbol, isConfigured }): readonly Line[] => {
    if (!isConfigured) return [];
    const ledger = sumOf(books, symbol);
    const received = books.received.get(symbol) ?? 0n;
    const beyond = more.get(symbol);
    const onChain = beyond === undefined ? null : received + beyond;
    return [{ symbol, what: 'deposit addresses', ledger, onItsWay: received - ledger, onChain }];
  });
}

/** The accounts that balances of deposit addresses are made of. */
const DEPOSIT_ACCOUNTS: readonly string[] = ['DEPOSIT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT', 'DEPOSIT_GAS'];

function sumOf(books: Books, symbol: string): bigint {
  return books.accounts
    .filter((account) => account.symbol === symbol && DEPOSIT_ACCOUNTS.includes(account.kind))
    .reduce((sum, { ledger }) => sum + ledger, 0n);
}

/** Names what each address has too much or too little. Pure. */
export function nameAddressDifference(
  books: Books,
  network: Pick<NetworkConfig, 'chain' | 'blockTimeMs'>,
  { address, symbol, expected, onChain, height, since }: AddressDifference,
): Difference {
  const found = { symbol, subject: address };
  const at = `at block ${height}`;
  const shown = (value: bigint): string => shownAmount(books, symbol, value);
  if (onChain === undefined) {
    return {
      ...found,
      kind: 'SOURCES_DISAGREE',
      amount: null,
      detail: `Two sources say different things of its balance ${at}.`,
      mend: 'One of them lies or is broken: compare with an explorer and take another one for it (opentill doctor).',
    };
  }
  const amount = onChain - expected;
  if (amount > 0n) {
    return {
      ...found,
      kind: 'DEPOSIT_UNSEEN',
      amount,
      detail: `It holds ${shown(onChain)} ${at}, and ${shown(expected)} came in as far as is known.`,
      mend: `A payment that no source showed: opentill rescan --chain ${network.chain} --from ${heightAt(books.anchor, network.blockTimeMs, since)} --to ${height}`,
    };
  }
  const may =
    onChain === 0n
      ? 'It was taken away by somebody who has the key (then treat the words as stolen)'
      : 'The token kept a fee on the way, or it was taken away by somebody who has the key';
  return {
    ...found,
    kind: 'DEPOSIT_MISSING',
    amount,
    detail: `It holds ${shown(onChain)} ${at}, and ${shown(expected)} of what came in was not swept.`,
    mend: `${may}: look at the address in an explorer.`,
  };
}

/** Roughly the height at a time before the anchor, rather too low than too high. */
export function heightAt(anchor: Anchor, blockTimeMs: number, time: Date): number {
  const blocks = Math.ceil(
    ((anchor.time.getTime() - time.getTime()) * RESCAN_MARGIN) / Math.max(1, blockTimeMs),
  );
  return Math.max(0, anchor.height - Math.max(0, blocks));
}
