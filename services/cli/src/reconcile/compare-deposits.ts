import type { NetworkConfig } from '@opentill/contracts/network-config';
import { familyOf } from '@opentill/domain/chains';
import type { AddressReading, Anchor, Asset, Books, FoundOnAddresses } from './books.ts';
import type { Difference, Explanation, Line } from './difference.ts';
import { shownAmount } from './shown-amount.ts';
import { unswept } from './store/unswept-balance.ts';

/** Blocks come faster than they usually do: the range to read again begins this much earlier than reckoned. */
const RESCAN_MARGIN = 1.25;

/** What deposit addresses are asked for: on SUI no coin for fees, as none is ever brought there. Pure. */
export function assetsOfDeposits({ assets, chain }: Books): readonly Asset[] {
  return assets.filter(({ isConfigured }) => isConfigured || familyOf(chain) !== 'SUI');
}

/**
 * The deposit accounts against the addresses, asset by asset. `more`: what all addresses together have more than the books make,
 * without what was `unasked`; undefined where two sources differ. Pure.
 */
export function depositLines(
  books: Books,
  { more, unasked }: Pick<FoundOnAddresses, 'more' | 'unasked'>,
): readonly Line[] {
  return assetsOfDeposits(books).map(({ symbol }): Line => {
    const ledger = sumOf(books, symbol);
    const lies = books.received.get(symbol) ?? 0n;
    const beyond = more.get(symbol);
    const others = unasked.get(symbol)?.amount ?? 0n;
    const onChain = beyond === undefined ? null : lies + beyond + others;
    return { symbol, what: 'deposit addresses', ledger, onItsWay: lies - ledger, unasked: others, onChain };
  });
}

/** Coin that nobody was asked for: no fault of the books, and said. Pure. */
export function explainUnasked(
  books: Books,
  { unasked }: Pick<FoundOnAddresses, 'unasked'>,
): readonly Explanation[] {
  return [...unasked].map(([symbol, { addresses, amount }]) => ({
    kind: 'COIN_UNASKED',
    symbol,
    subject: `${addresses} deposit ${addresses === 1 ? 'address' : 'addresses'}`,
    amount,
    detail: `Others sent ${shownAmount(books, symbol, amount)}, which is no asset of orders here: it pays for sweeps (--addresses names where).`,
  }));
}

/** The accounts that balances of deposit addresses are made of. */
const DEPOSIT_ACCOUNTS: readonly string[] = ['DEPOSIT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT', 'DEPOSIT_GAS'];

function sumOf(books: Books, symbol: string): bigint {
  return books.accounts
    .filter((account) => account.symbol === symbol && DEPOSIT_ACCOUNTS.includes(account.kind))
    .reduce((sum, { ledger }) => sum + ledger, 0n);
}

/** Addresses whose keys somebody else has, also where sums are equal. Pure. */
export function nameForeignAddresses({ foreignAddresses }: Books): readonly Difference[] {
  return foreignAddresses.map(({ address, orderPk }) => ({
    kind: 'ADDRESS_NOT_OURS',
    symbol: '',
    subject: address,
    amount: null,
    detail: `Address of the order ${orderPk}, and not derived from the seed of payout-signer: its money is not ours.`,
    mend: 'Compare the public key file of the api with the keystore (opentill keys show-xpub), and look who wrote the row.',
  }));
}

/** Names what each address has too much or too little. Pure. */
export function nameAddressDifference(
  books: Books,
  network: Pick<NetworkConfig, 'chain' | 'blockTimeMs' | 'nativeSymbol'>,
  { address, symbol, lying, onChain, height, since }: AddressReading,
): Difference {
  const found = { symbol, subject: address };
  const expected = unswept(lying);
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
    onChain === 0n || symbol === network.nativeSymbol
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
function heightAt(anchor: Anchor, blockTimeMs: number, time: Date): number {
  const blocks = Math.ceil(
    ((anchor.time.getTime() - time.getTime()) * RESCAN_MARGIN) / Math.max(1, blockTimeMs),
  );
  return Math.max(0, anchor.height - Math.max(0, blocks));
}
