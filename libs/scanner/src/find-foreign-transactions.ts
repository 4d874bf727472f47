import type { Address } from '@opentill/chain/address-codec';
import type { Actor, RangeRead } from '@opentill/chain/chain-reader';
import type { CandidateTransfer, TxHash } from '@opentill/chain/transfer';
import type { ForeignTransaction, ForeignTransfer, LandedTransaction } from './scan-change.ts';
import type { Scanning } from './scanning.ts';

/**
 * Transactions of hot wallets that this gateway did not sign: a third party has the key or an allowance, or the
 * database was restored. Needs a reader that names actors; on other chains the wallet's transaction count shows them.
 * The signer commits before it sends, so own transactions are always in the database by now.
 */
export async function findForeign(
  { network, store }: Pick<Scanning, 'network' | 'store'>,
  { headers, transfers, actors, actsOf = actsAmong(transfers, actors) }: RangeRead,
): Promise<readonly ForeignTransaction[]> {
  if (actsOf === undefined) return [];
  const acted = actsOf(await watchedWallets({ network, store }, actors ?? []));
  if (acted.length === 0) return [];
  const own = await store.findOwn(network.chain, [...new Set(acted.map(({ txHash }) => txHash))]);
  const found = new Map<string, ForeignTransaction>();
  for (const { txHash, wallet, blockHeight } of acted) {
    const header = headers.find(({ height }) => height === blockHeight);
    if (own.has(txHash) || header === undefined) continue;
    found.set(`${txHash} ${wallet}`, {
      txHash,
      wallet,
      blockHeight,
      blockHash: header.hash,
      blockTimeSeconds: header.timeSeconds,
      moved: movedBy(transfers, txHash, wallet),
    });
  }
  return [...found.values()];
}

function actsAmong(
  transfers: readonly CandidateTransfer[],
  actors: readonly Actor[] | undefined,
): RangeRead['actsOf'] {
  if (actors === undefined) return undefined;
  return (wallets) => [
    ...actors.filter(({ wallet }) => wallets.has(wallet)),
    ...transfers.flatMap(({ txHash, from, blockHeight }) =>
      wallets.has(from) ? { txHash, wallet: from, blockHeight } : [],
    ),
  ];
}

/**
 * Hot wallets, and while a restore holds the chain also the deposit addresses that acted. Only SUI readers name all
 * actors; there no other source shows sweeps made since the backup.
 */
async function watchedWallets(
  { network, store }: Pick<Scanning, 'network' | 'store'>,
  actors: readonly Actor[],
): Promise<ReadonlySet<Address>> {
  const hot = await store.hotWallets(network.family);
  if (actors.length === 0 || !(await store.isRestored(network.chain))) return hot;
  const acted = [...new Set(actors.map(({ wallet }) => wallet))];
  return new Set([...hot, ...(await store.findRecipients(network.family, acted))]);
}

/** The wallet's own transfers first. If several parties contributed, any of them may have funded any recipient. */
function movedBy(
  transfers: readonly CandidateTransfer[],
  txHash: TxHash,
  wallet: Address,
): readonly ForeignTransfer[] {
  const isOthers = ({ from }: CandidateTransfer): number => Number(from !== wallet);
  return transfers
    .filter((one) => one.txHash === txHash && one.to !== wallet && one.amountBaseUnits > 0n)
    .toSorted((one, other) => isOthers(one) - isOthers(other))
    .map(({ contract, to, amountBaseUnits }) => ({ contract, to, amountBaseUnits }));
}

/**
 * On chains whose transactions expire by epoch, expiry is proven by asking nodes; an attempt read here has landed even
 * if nodes deny it. The signer commits an attempt before sending it, so it is in the database by now.
 */
export async function findLanded(
  { network, store }: Pick<Scanning, 'network' | 'store'>,
  { headers, actors }: RangeRead,
): Promise<readonly LandedTransaction[]> {
  if (actors === undefined || actors.length === 0 || headers[0]?.epoch === undefined) return [];
  const open = await store.openAttempts(network.chain);
  if (open.size === 0) return [];
  const found = new Map<TxHash, LandedTransaction>();
  for (const { txHash, blockHeight } of actors) {
    if (!open.has(txHash)) continue;
    const header = headers.find(({ height }) => height === blockHeight);
    if (header !== undefined) found.set(txHash, { txHash, blockHeight, blockHash: header.hash });
  }
  return [...found.values()];
}
