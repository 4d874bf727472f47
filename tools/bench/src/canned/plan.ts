import { createHash } from 'node:crypto';

/** The chain families. */
export type ScannedFamily = 'EVM' | 'TRON' | 'SUI';

/** A chain that is computed, not executed: the same plan gives the same blocks in every process. */
export interface CannedPlan {
  readonly family: ScannedFamily;
  readonly seed: string;
  /** As the nodes of the family write them: on TRON 20 bytes of hex. */
  readonly tokens: readonly string[];
  readonly decimals: number;
  /** EVM only. */
  readonly chainId: number;
  /** Of the tokens, each in a transaction of its own, in every block but block 0. */
  readonly transfersPerBlock: number;
  /** Transactions of a block that move no token: on TRON transfers of TRX, on SUI none. */
  readonly otherTransactions: number;
  /** The first transfer of every so many blocks goes to a deposit address; no other does. */
  readonly blocksPerDeposit: number;
  /** Time of block 0 in milliseconds since 1970, and between blocks. */
  readonly startMs: number;
  readonly blockTimeMs: number;
}

/** The facts of a block that a cursor has. */
export interface BlockFacts {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timeSeconds: number;
}

/** The newest block and the newest final one. */
export interface Heads {
  readonly latest: number;
  readonly final: number;
}

export interface CannedChain {
  /** The `genesisId` of a network file; empty on EVM. */
  readonly genesisId: string;
  readonly contentType: string;
  facts(height: number): BlockFacts;
  /** Prepares the answers of a block. Heights ascend. */
  make(height: number): void;
  forget(height: number): void;
  /** The parts of the body that answers a request, whose body is latin1. `count` receives each method of the request. */
  answer(path: string, body: string, heads: Heads, count: (method: string) => void): readonly Buffer[];
}

/** Deposit addresses that receive something; the others only fill the table. */
const PAID_ADDRESSES = 50;

/** 32 bytes of hex for a deposit address, from 1 on; families with shorter addresses take the beginning. */
export function depositHex(index: number): string {
  return md5(`a${index}`) + md5(`b${index}`);
}

export function paidHex(digits: number): readonly string[] {
  return Array.from({ length: PAID_ADDRESSES }, (_, place) => depositHex(place + 1).slice(0, digits));
}

export const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

export function timeSecondsOf({ startMs, blockTimeMs }: CannedPlan, height: number): number {
  return Math.floor((startMs + height * blockTimeMs) / 1_000);
}

export const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
