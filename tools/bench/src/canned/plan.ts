import { createHash } from 'node:crypto';

export type ScannedFamily = 'EVM' | 'TRON' | 'SUI';

/** Describes a chain that is computed, not executed: the same plan gives the same blocks in every process. */
export interface CannedPlan {
  readonly family: ScannedFamily;
  readonly seed: string;
  /** In the nodes' own form; on TRON 20 bytes of hex. */
  readonly tokens: readonly string[];
  readonly decimals: number;
  readonly chainId: number;
  /** Token transfers in every block except block 0, each in its own transaction. */
  readonly transfersPerBlock: number;
  /** Transactions per block that move no token: TRX transfers on TRON, none on SUI. */
  readonly otherTransactions: number;
  /** The first transfer of every n-th block pays a deposit address. Below 1: the first 1/n transfers of every block. */
  readonly blocksPerDeposit: number;
  /** Unix time of block 0 in milliseconds. */
  readonly startMs: number;
  readonly blockTimeMs: number;
}

export interface BlockFacts {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timeSeconds: number;
}

export interface Heads {
  readonly latest: number;
  readonly final: number;
}

export interface CannedChain {
  readonly genesisId: string;
  readonly contentType: string;
  headersOf?(path: string): Readonly<Record<string, string>>;
  facts(height: number): BlockFacts;
  make(height: number): void;
  forget(height: number): void;
  /** Returns the parts of a response body. `body` is latin1. Calls `count` with each method of the request. */
  answer(path: string, body: string, heads: Heads, count: (method: string) => void): readonly Buffer[];
  /** Part of an endless answer for a new block. Undefined if the request asks for no subscription. */
  notice?(path: string, height: number): Buffer | undefined;
}

/** Deposit addresses that receive payments. The others only fill the table. */
const PAID_ADDRESSES = 50;

/** Returns 32 bytes of hex for a deposit address; `index` starts at 1. Shorter addresses use the first bytes. */
export function depositHex(index: number): string {
  return md5(`a${index}`) + md5(`b${index}`);
}

export function paidHex(digits: number): readonly string[] {
  return Array.from({ length: PAID_ADDRESSES }, (_, place) => depositHex(place + 1).slice(0, digits));
}

export function paysDeposit(
  { blocksPerDeposit }: Pick<CannedPlan, 'blocksPerDeposit'>,
  height: number,
  place: number,
): boolean {
  if (blocksPerDeposit < 1) return place < Math.round(1 / blocksPerDeposit);
  return place === 0 && height > 0 && height % blocksPerDeposit === 0;
}

export const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

export function timeSecondsOf({ startMs, blockTimeMs }: CannedPlan, height: number): number {
  return Math.floor((startMs + height * blockTimeMs) / 1_000);
}

export const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
