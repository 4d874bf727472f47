import type { Address } from '@opentill/chain/address-codec';
import type { Actor, RangeRead } from '@opentill/chain/chain-reader';
import type { CandidateTransfer, TxHash } from '@opentill/chain/transfer';
import type { ForeignTransaction, ForeignTransfer, LandedTransaction } from './scan-change.ts';
import type { Scanning } from './scanning.ts';

/**
 * Finds in a verified range what hot wallets did that the gateway knows nothing of: somebody else has the key, was allowed to
 * spend, or this database forgot it. Only where the reader tells who acted: elsewhere a count of the wallet's transactions
 * says it. The signer commits what it signed before it sends it, so whoever reads it in a block finds it here.
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

/** Undefined where nobody told who acted. */
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
 * The hot wallets. While a restore holds wallets of the chain the deposit addresses that acted as well, where the reader tells of
 * everybody (SUI): nothing else says there what was swept since the backup.
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

/**
 * One transaction may pay many. Whose money each of them got is not always to be told, where several gave: any of it may have paid
 * what the wallet was to pay.
 */
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
 * Finds in a verified range the attempts that may land yet. Only where epochs end them: there no blocks are read anew to prove one
 * dead, but nodes are asked for it, and one that was read here is not dead whatever they answer. The signer commits an attempt before
 * it sends it, so whoever has read it in a block finds it open.
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
