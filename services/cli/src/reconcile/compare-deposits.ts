import type { NetworkConfig } from '@opentill/contracts/network-config';
import { familyOf } from '@opentill/domain/chains';
import type { AddressReading, Anchor, Asset, ChainLedger, FoundOnAddresses } from './chain-ledger.ts';
import type { Difference, Explanation, Line } from './difference.ts';
import { displayAmount } from './display-amount.ts';
import { unswept } from './store/unswept-balance.ts';

/** Blocks may come faster than usual: the suggested rescan range starts earlier by this factor. */
const RESCAN_MARGIN = 1.25;

/** Leaves out SUI's coin for fees, because deposit addresses never receive it. Pure. */
export function assetsOfDeposits({ assets, chain }: ChainLedger): readonly Asset[] {
  return assets.filter(({ isConfigured }) => isConfigured || familyOf(chain) !== 'SUI');
}

/** `more`: excess of all addresses over the records; undefined if two sources differ. Pure. */
export function depositLines(
  books: ChainLedger,
  { more, unasked }: Pick<FoundOnAddresses, 'more' | 'unasked'>,
): readonly Line[] {
  return assetsOfDeposits(books).map(({ symbol }): Line => {
    const ledger = sumOf(books, symbol);
    const recorded = books.received.get(symbol) ?? 0n;
    const beyond = more.get(symbol);
    const others = unasked.get(symbol)?.amount ?? 0n;
    const onChain = beyond === undefined ? null : recorded + beyond + others;
    return {
      symbol,
      what: 'deposit addresses',
      ledger,
      onItsWay: recorded - ledger,
      unasked: others,
      onChain,
    };
  });
}

/** Coin that third parties sent is not a difference. Pure. */
export function explainUnasked(
  books: ChainLedger,
  { unasked }: Pick<FoundOnAddresses, 'unasked'>,
): readonly Explanation[] {
  return [...unasked].map(([symbol, { addresses, amount }]) => ({
    kind: 'COIN_UNASKED',
    symbol,
    subject: `${addresses} deposit ${addresses === 1 ? 'address' : 'addresses'}`,
    amount,
    detail: `Others sent ${displayAmount(books, symbol, amount)}, which is not an asset of orders: it pays for sweeps (--addresses shows where).`,
  }));
}

const DEPOSIT_ACCOUNTS: readonly string[] = ['DEPOSIT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT', 'DEPOSIT_GAS'];

function sumOf(books: ChainLedger, symbol: string): bigint {
  return books.accounts
    .filter((account) => account.symbol === symbol && DEPOSIT_ACCOUNTS.includes(account.kind))
    .reduce((sum, { ledger }) => sum + ledger, 0n);
}

/** Reports addresses whose keys a third party has, even if the sums are equal. Pure. */
export function nameForeignAddresses({ foreignAddresses }: ChainLedger): readonly Difference[] {
  return foreignAddresses.map(({ address, orderPk }) => ({
    kind: 'ADDRESS_NOT_OURS',
    symbol: '',
    subject: address,
    amount: null,
    detail: `Address of the order ${orderPk} that payout-signer does not derive from its seed: a third party controls its money.`,
    mend: 'Compare the public key file of the api with the keystore (opentill keys show-xpub), and find out who wrote the row.',
  }));
}

export function nameAddressDifference(
  books: ChainLedger,
  network: Pick<NetworkConfig, 'chain' | 'blockTimeMs' | 'nativeSymbol'>,
  { address, symbol, recorded, onChain, height, since }: AddressReading,
): Difference {
  const found = { symbol, subject: address };
  const expected = unswept(recorded);
  const at = `at block ${height}`;
  const shown = (value: bigint): string => displayAmount(books, symbol, value);
  if (onChain === undefined) {
    return {
      ...found,
      kind: 'SOURCES_DISAGREE',
      amount: null,
      detail: `Two sources differ on its balance ${at}.`,
      mend: 'One of them is wrong: compare with an explorer and replace it (opentill doctor).',
    };
  }
  const amount = onChain - expected;
  if (amount > 0n) {
    return {
      ...found,
      kind: 'DEPOSIT_UNSEEN',
      amount,
      detail: `It holds ${shown(onChain)} ${at}, but only ${shown(expected)} is recorded.`,
      mend: `A payment that no source showed. Read the blocks again: opentill rescan --chain ${network.chain} --from ${heightAt(books.anchor, network.blockTimeMs, since)} --to ${height}`,
    };
  }
  const may =
    onChain === 0n || symbol === network.nativeSymbol
      ? 'A third party with the key took it (then treat the words as stolen)'
      : 'The token charged a fee, or a third party with the key took it';
  return {
    ...found,
    kind: 'DEPOSIT_MISSING',
    amount,
    detail: `It holds ${shown(onChain)} ${at}, but ${shown(expected)} was received and not swept.`,
    mend: `${may}: check the address in an explorer.`,
  };
}

/** Estimates rather too low than too high. */
function heightAt(anchor: Anchor, blockTimeMs: number, time: Date): number {
  const blocks = Math.ceil(
    ((anchor.time.getTime() - time.getTime()) * RESCAN_MARGIN) / Math.max(1, blockTimeMs),
  );
  return Math.max(0, anchor.height - Math.max(0, blocks));
}
