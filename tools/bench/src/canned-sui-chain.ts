import { createHash } from 'node:crypto';
import { GrpcTypes } from '@mysten/sui/grpc';
import type { CannedBlockFacts } from './canned-chain.ts';

/** A chain of SUI that is computed, not executed: the same parameters give the same checkpoints, in whatever process. */
export interface CannedSuiPlan {
  readonly seed: string;
  /** Canonical. */
  readonly coinTypes: readonly [string, string];
  /** In every checkpoint but checkpoint 0: payments in one of the coins, beside a transaction of the chain itself. */
  readonly paymentsPerCheckpoint: number;
  /** The first payment of every so manieth checkpoint goes to one of these; no other does. */
  readonly ours: readonly string[];
  readonly checkpointsPerDeposit: number;
  /** Time of checkpoint 0 in milliseconds since 1970, and of each further one after it. */
  readonly startMs: number;
  readonly blockTimeMs: number;
}

export interface CannedSuiChain {
  facts(height: number): CannedBlockFacts;
  /** The digest of checkpoint 0. */
  readonly genesisId: string;
  make(height: number): GrpcTypes.Checkpoint;
}

/** So many that few of them come again soon. */
const STRANGERS = 200_000;
const SUI = `0x${'2'.padStart(64, '0')}::sui::SUI`;
const SYSTEM = `0x${'0'.repeat(64)}`;
const GAS_MIST = 1_500_000n;
const EPOCH = 7n;

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

/** As long as the digests of the chain, and of their digits. */
function digestOf(text: string): string {
  return sha(text).slice(0, 44).replaceAll('0', 'G');
}

/** The deposit address of an index. */
export function cannedSuiDeposit(index: number): string {
  const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
  return `0x${md5(`a${index}`)}${md5(`b${index}`)}`;
}

export function createCannedSuiChain(plan: CannedSuiPlan): CannedSuiChain {
  const strangers = Array.from({ length: 1_000 }, (_, i) => `0x${sha(`${plan.seed} stranger ${i}`)}`);
  const stranger = (n: number): string => {
    const known = strangers[n % strangers.length] ?? SYSTEM;
    return `${known.slice(0, -6)}${(n % STRANGERS).toString(16).padStart(6, '0')}`;
  };
  const hashOf = (height: number): string => digestOf(`${plan.seed} ${height}`);
  const timestampOf = (height: number): { readonly seconds: bigint; readonly nanos: number } => {
    const ms = plan.startMs + height * plan.blockTimeMs;
    return { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 };
  };

  function payment(height: number, place: number): GrpcTypes.ExecutedTransaction {
    const n = height * plan.paymentsPerCheckpoint + place;
    const isDeposit = place === 0 && height % plan.checkpointsPerDeposit === 0;
    const payer = stranger(n * 7 + 1);
    const ours = plan.ours[Math.floor(height / plan.checkpointsPerDeposit) % plan.ours.length] ?? SYSTEM;
    const amount = 1_000_000 + (n % 1_000_000);
    const coinType = plan.coinTypes[n % 2] ?? SUI;
    return executed(digestOf(`${plan.seed} ${height} ${place}`), payer, [
      { address: payer, coinType: SUI, amount: `-${GAS_MIST}` },
      { address: payer, coinType, amount: `-${amount}` },
      { address: isDeposit ? ours : stranger(n * 11 + 3), coinType, amount: `${amount}` },
    ]);
  }

  return {
    genesisId: hashOf(0),
    facts: (height) => ({
      height,
      hash: hashOf(height),
      parentHash: height === 0 ? '1'.repeat(32) : hashOf(height - 1),
      timeSeconds: Math.floor((plan.startMs + height * plan.blockTimeMs) / 1_000),
    }),
    make(height) {
      const count = height === 0 ? 0 : plan.paymentsPerCheckpoint;
      const prologue = executed(digestOf(`${plan.seed} prologue ${height}`), SYSTEM, []);
      return GrpcTypes.Checkpoint.create({
        sequenceNumber: BigInt(height),
        digest: hashOf(height),
        summary: {
          epoch: EPOCH,
          timestamp: timestampOf(height),
          ...(height === 0 ? {} : { previousDigest: hashOf(height - 1) }),
          totalNetworkTransactions: BigInt(1 + height * (plan.paymentsPerCheckpoint + 1)),
        },
        transactions: [prologue, ...Array.from({ length: count }, (_, place) => payment(height, place))],
      });
    },
  };
}

function executed(
  digest: string,
  sender: string,
  balanceChanges: GrpcTypes.ExecutedTransaction['balanceChanges'],
): GrpcTypes.ExecutedTransaction {
  const computationCost = balanceChanges.length === 0 ? 0n : GAS_MIST;
  return GrpcTypes.ExecutedTransaction.create({
    digest,
    transaction: { sender, gasPayment: { owner: sender } },
    effects: { status: { success: true }, gasUsed: { computationCost, storageCost: 0n, storageRebate: 0n } },
    balanceChanges,
  });
}
