import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TxHash } from '@opentill/chain/transfer';
import type { FeeTerms, PaymentIntent, SendOutcome, SignedTransaction } from '@opentill/chain/wallet-sender';

export interface ModelTx {
  readonly txHash: TxHash;
  readonly nonce: number;
  readonly to: Address;
  readonly isCancel: boolean;
  readonly price: bigint;
}

/** Has a pool with one transaction per nonce, and blocks that take them in order. */
export interface ModelChain {
  readonly mined: readonly ModelTx[];
  readonly height: () => number;
  heightOf(txHash: TxHash): number | undefined;
  send(raw: Uint8Array): SendOutcome;
  mine(): void;
  pendingCount(): number;
  dropPool(): void;
  /** The next blocks are empty: the fee is too low. */
  stall(blocks: number): void;
  /** Transactions of the removed blocks do not return to the pool. */
  reorganise(blocks: number): void;
  mineForeign(): void;
  remember(): void;
  resurface(): void;
}

export const blockHash = (height: number) => `b${height}` as BlockHash;

/** Not deterministic, like a remote signer: code must not depend on equal hashes. */
let salt = 0;

export function modelSign(
  intent: PaymentIntent,
  nonce: number,
  terms: FeeTerms,
  isCancel = false,
): SignedTransaction {
  salt += 1;
  const txHash = `h${salt}` as TxHash;
  const tx = { txHash, nonce, to: intent.to, isCancel, price: terms.maxFeePerGas.toString() };
  return { txHash, raw: Buffer.from(JSON.stringify(tx)), nonce, terms };
}

export function createModelChain(): ModelChain {
  const mined: ModelTx[] = [];
  const heights = new Map<TxHash, number>();
  const pool = new Map<number, ModelTx>();
  const heard: Uint8Array[] = [];
  const everHeard: ModelTx[] = [];
  let height = 10;
  let stalledUntil = 0;
  const chain: ModelChain = {
    mined,
    height: () => height,
    heightOf: (txHash) => heights.get(txHash),
    send(raw) {
      heard.push(raw);
      const parsed = JSON.parse(Buffer.from(raw).toString()) as Omit<ModelTx, 'price'> & { price: string };
      const tx: ModelTx = { ...parsed, price: BigInt(parsed.price) };
      everHeard.push(tx);
      if (mined.some(({ txHash }) => txHash === tx.txHash)) return 'KNOWN';
      if (tx.nonce < mined.length) return 'NONCE_TOO_LOW';
      const present = pool.get(tx.nonce);
      if (present?.txHash === tx.txHash) return 'KNOWN';
      if (present !== undefined && tx.price * 10n < present.price * 11n) return 'UNDERPRICED';
      pool.set(tx.nonce, tx);
      return 'ACCEPTED';
    },
    mine() {
      height += 1;
      if (height <= stalledUntil) return;
      for (let tx = pool.get(mined.length); tx !== undefined; tx = pool.get(mined.length)) {
        pool.delete(tx.nonce);
        mined.push(tx);
        heights.set(tx.txHash, height);
      }
    },
    pendingCount() {
      let count = mined.length;
      while (pool.has(count)) count += 1;
      return count;
    },
    dropPool: () => pool.clear(),
    stall(blocks) {
      stalledUntil = height + blocks;
    },
    reorganise(blocks) {
      for (let tx = mined.at(-1); tx !== undefined; tx = mined.at(-1)) {
        if ((heights.get(tx.txHash) ?? 0) <= height - blocks) break;
        mined.pop();
        heights.delete(tx.txHash);
      }
    },
    remember() {
      stalledUntil = 0;
      for (const raw of heard.splice(0)) chain.send(raw);
    },
    resurface() {
      height += 1;
      const tx = everHeard.find(({ nonce }) => nonce === mined.length);
      if (tx === undefined) return;
      pool.delete(tx.nonce);
      heights.set(tx.txHash, height);
      mined.push(tx);
    },
    mineForeign() {
      height += 1;
      pool.delete(mined.length);
      const txHash = `foreign${mined.length}` as TxHash;
      heights.set(txHash, height);
      mined.push({ txHash, nonce: mined.length, to: 'x' as Address, isCancel: false, price: 1n });
    },
  };
  return chain;
}
