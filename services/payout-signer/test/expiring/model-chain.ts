import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { ExpiringSendOutcome, SignedExpiring, Validity } from '@opentill/chain/expiring-sender';
import type { TxHash } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';

export interface ModelTx {
  readonly txHash: TxHash;
  readonly to: Address;
  readonly expiresMs: number;
  readonly uniqueMs: number;
  readonly resource?: PaymentIntent['resource'];
}

export interface ModelBlock extends BlockHeader {
  readonly txs: readonly ModelTx[];
}

/** Blocks this far below the head are final. */
const SOLID_LAG = 3;
const BLOCK_MS = 3_000;

export interface ModelChain {
  readonly blocks: readonly ModelBlock[];
  readonly head: () => ModelBlock;
  readonly solidHeight: () => number;
  heightOf(txHash: TxHash): number | undefined;
  payments(): readonly ModelTx[];
  send(raw: Uint8Array): ExpiringSendOutcome;
  mine(): void;
  dropPool(): void;
  stall(blocks: number): void;
  /** Blocks that are not final. Their transactions do not return to the pool. */
  reorganise(blocks: number): void;
  /** Replaces the last blocks by others of the same times, with every transaction ever sent that was still valid. */
  fork(blocks: number): void;
  remember(): void;
}

/** Equal intents have equal bytes, as on TRON. */
export function modelSign(
  intent: PaymentIntent,
  validity: Validity,
  feeLimitBaseUnits: bigint,
): SignedExpiring {
  const { to, resource } = intent;
  const { expiresMs, uniqueMs } = validity;
  const txHash = `${to.slice(0, 4)}-${expiresMs}-${uniqueMs}` as TxHash;
  const tx: ModelTx = { txHash, to, expiresMs, uniqueMs, ...(resource === undefined ? {} : { resource }) };
  return { txHash, raw: Buffer.from(JSON.stringify(tx)), validity, feeLimitBaseUnits };
}

export function createModelChain(): ModelChain {
  const blocks: ModelBlock[] = [];
  const pool = new Map<TxHash, ModelTx>();
  const heard = new Map<TxHash, ModelTx>();
  let forks = 0;
  let emptyUntil = 0;
  /** A reorganisation does not turn the block producers' clock back. */
  let slotMs = 1_800_000_000_000;
  const head = (): ModelBlock => {
    const last = blocks.at(-1);
    if (last === undefined) throw new Error('the chain has no block');
    return last;
  };
  const append = (txs: readonly ModelTx[], atMs = (slotMs += BLOCK_MS)): void => {
    const parent = blocks.at(-1);
    const height = (parent?.height ?? -1) + 1;
    blocks.push({
      height,
      hash: `b${height}f${forks}` as BlockHash,
      parentHash: parent?.hash ?? ('none' as BlockHash),
      timeSeconds: atMs / 1_000,
      txs,
    });
  };
  for (let i = 0; i < 10; i += 1) append([]);
  const heightOf = (txHash: TxHash): number | undefined =>
    blocks.find(({ txs }) => txs.some((tx) => tx.txHash === txHash))?.height;
  const chain: ModelChain = {
    blocks,
    head,
    solidHeight: () => head().height - SOLID_LAG,
    heightOf,
    payments: () => blocks.flatMap(({ txs }) => txs),
    send(raw) {
      const tx = JSON.parse(Buffer.from(raw).toString()) as ModelTx;
      heard.set(tx.txHash, tx);
      if (heightOf(tx.txHash) !== undefined || pool.has(tx.txHash)) return 'KNOWN';
      if (tx.expiresMs < head().timeSeconds * 1_000 + BLOCK_MS) return 'EXPIRED';
      pool.set(tx.txHash, tx);
      return 'ACCEPTED';
    },
    mine() {
      const timeMs = slotMs + BLOCK_MS;
      const isEmpty = head().height + 1 <= emptyUntil;
      for (const txHash of pool.keys()) if (heightOf(txHash) !== undefined) pool.delete(txHash);
      const taken = isEmpty ? [] : [...pool.values()].filter(({ expiresMs }) => timeMs <= expiresMs);
      for (const [txHash, tx] of pool) if (taken.includes(tx) || timeMs > tx.expiresMs) pool.delete(txHash);
      append(taken);
    },
    dropPool: () => pool.clear(),
    stall(count) {
      emptyUntil = head().height + count;
    },
    reorganise(count) {
      forks += 1;
      for (let i = 0; i < Math.min(count, SOLID_LAG - 1); i += 1) blocks.pop();
      append([]);
    },
    fork(count) {
      forks += 1;
      const gone = blocks.splice(-Math.min(count, SOLID_LAG - 1));
      for (const { timeSeconds } of gone) {
        const timeMs = timeSeconds * 1_000;
        const known = [...heard.values()].filter(({ txHash }) => heightOf(txHash) === undefined);
        append(
          known.filter(({ expiresMs }) => timeMs <= expiresMs),
          timeMs,
        );
      }
    },
    remember() {
      emptyUntil = 0;
      for (const tx of heard.values()) if (heightOf(tx.txHash) === undefined) pool.set(tx.txHash, tx);
    },
  };
  return chain;
}
