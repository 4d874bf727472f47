import { describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TransactionFate } from '@opentill/chain/own-transaction';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { buildChain } from '../test/build-chain.ts';
import type { ChainState } from './chain-state.ts';
import {
  judgeFates,
  type FateAnswers,
  type OpenTransaction,
  type RecordedFate,
  type VerifiedAnswer,
} from './judge-fates.ts';

/** Blocks 10 to 20 of branch a are stored; 15 is verified. */
const CHAIN: ChainState = stateOf(buildChain({ from: 10, to: 20 }), 15);
const TX = '0xtx' as TxHash;

function stateOf(blocks: ReturnType<typeof buildChain>, verifiedHeight: number): ChainState {
  return { head: blocks.at(-1)!, finalizedHeight: null, verifiedHeight, blocks };
}

const hashAt = (height: number, branch = 'a'): BlockHash => `0x${height}${branch}` as BlockHash;

function receipt(height: number, branch = 'a', more: Partial<TransactionFate> = {}): TransactionFate {
  return {
    txHash: TX,
    blockHeight: height,
    blockHash: hashAt(height, branch),
    succeeded: true,
    deliveredBaseUnits: 100n,
    feeBaseUnits: 7n,
    ...more,
  };
}

const REVERTED = { succeeded: false, deliveredBaseUnits: 0n };

function recorded(
  state: RecordedFate['state'],
  height: number,
  branch = 'a',
  more: Partial<TransactionFate> = {},
): RecordedFate {
  const { txHash: _, ...fate } = receipt(height, branch, more);
  return { state, ...fate };
}

interface Case {
  readonly fate?: RecordedFate;
  readonly seen?: TransactionFate;
  readonly verified?: VerifiedAnswer;
  readonly older?: FateAnswers['otherBlocks'];
  readonly after?: ChainState;
}

/** Returns `MINED 17a`, `VERIFIED 12a failed`, `ORPHANED` or an empty string. */
function judged({ fate, seen, verified, older = new Map(), after = CHAIN }: Case): string {
  const own: OpenTransaction = {
    txHash: TX,
    from: '0xwallet' as Address,
    contract: '0xtoken' as TokenContract,
    to: '0xpayee' as Address,
    amountBaseUnits: baseUnits(100n),
    signedAtSeconds: 0,
    fate,
  };
  const { changes, waiting } = judgeFates([own], after, {
    seen: new Map(seen === undefined ? [] : [[TX, seen]]),
    verified: new Map(verified === undefined ? [] : [[TX, verified]]),
    otherBlocks: older,
  });
  const changed = changes.map((change) => {
    if (change.state === 'ORPHANED') return 'ORPHANED';
    const { succeeded, deliveredBaseUnits, blockHash } = change.fate;
    const text = `${change.state} ${blockHash.slice(2)}`;
    return succeeded ? (deliveredBaseUnits === 100n ? text : `${text} short`) : `${text} failed`;
  });
  return [...changed, ...waiting.map(() => 'waits')].join(', ');
}

describe('judgeFates with the answer of one source', () => {
  it.each<[string, Case, string]>([
    ['keeps no record of a transaction in no block', {}, ''],
    ['records a transaction in a stored block as MINED', { seen: receipt(17) }, 'MINED 17a'],
    [
      'records a failed transaction in a stored block',
      { seen: receipt(17, 'a', REVERTED) },
      'MINED 17a failed',
    ],
    ['ignores a receipt in a block that is not stored', { seen: receipt(17, 'b') }, ''],
    ['ignores a receipt above the stored blocks', { seen: receipt(21) }, ''],
    ['ignores a receipt at the verified height, where two sources must agree', { seen: receipt(15) }, ''],
    ['ignores a receipt below the stored blocks', { seen: receipt(3) }, ''],
    [
      'records an orphaned transaction as MINED again',
      { fate: recorded('ORPHANED', 17, 'b'), seen: receipt(18) },
      'MINED 18a',
    ],
    [
      'records an orphaned transaction as MINED in the block it was orphaned from',
      { fate: recorded('ORPHANED', 18), seen: receipt(18) },
      'MINED 18a',
    ],
    ['keeps MINED without a receipt while the block is stored', { fate: recorded('MINED', 17) }, ''],
    ['writes no change for an identical receipt', { fate: recorded('MINED', 17), seen: receipt(17) }, ''],
    ['verified, whatever one says', { fate: recorded('VERIFIED', 12), seen: receipt(12, 'a', REVERTED) }, ''],
    ['verified below all that is stored', { fate: recorded('VERIFIED', 4) }, ''],
    ['orphaned and nowhere', { fate: recorded('ORPHANED', 17, 'b') }, ''],
  ])('%s', (_, given, expected) => {
    expect(judged(given)).toBe(expected);
  });
});

describe('judgeFates when the recorded block left the chain', () => {
  it.each<[string, Case, string]>([
    ['orphans a transaction without a receipt', { fate: recorded('MINED', 17, 'b') }, 'ORPHANED'],
    [
      'orphans a transaction recorded above the stored blocks',
      { fate: recorded('MINED', 23, 'b') },
      'ORPHANED',
    ],
    [
      'moves a MINED transaction to its new block',
      { fate: recorded('MINED', 17, 'b'), seen: receipt(18) },
      'MINED 18a',
    ],
    [
      'moves a transaction that fails in its new block',
      { fate: recorded('MINED', 17, 'b'), seen: receipt(17, 'a', REVERTED) },
      'MINED 17a failed',
    ],
    [
      'moves a VERIFIED transaction as MINED',
      { fate: recorded('VERIFIED', 17, 'b'), seen: receipt(18) },
      'MINED 18a',
    ],
    ['orphans a VERIFIED transaction', { fate: recorded('VERIFIED', 16, 'b') }, 'ORPHANED'],
    [
      'ignores a receipt of the block that left the chain',
      { fate: recorded('VERIFIED', 16, 'b'), seen: receipt(16, 'b') },
      'ORPHANED',
    ],
    [
      'sources that differ do not keep it',
      { fate: recorded('MINED', 14, 'b'), verified: 'disputed' },
      'ORPHANED, waits',
    ],
    [
      'another branch that is not stored does not keep it',
      { fate: recorded('MINED', 14, 'b'), verified: receipt(14, 'c') },
      'ORPHANED, waits',
    ],
  ])('%s', (_, given, expected) => {
    expect(judged(given)).toBe(expected);
  });
});

describe('judgeFates with the answers of two sources', () => {
  const at = (height: number): FateAnswers['otherBlocks'] =>
    new Map([
      [hashAt(height), { height, hash: hashAt(height), parentHash: hashAt(height - 1), timeSeconds: 1 }],
    ]);

  it.each<[string, Case, string]>([
    [
      'verifies a transaction at the verified height',
      { fate: recorded('MINED', 15), verified: receipt(15) },
      'VERIFIED 15a',
    ],
    ['verifies a transaction without a record', { verified: receipt(12) }, 'VERIFIED 12a'],
    [
      'verifies an orphaned transaction that was mined again',
      { fate: recorded('ORPHANED', 12), verified: receipt(12) },
      'VERIFIED 12a',
    ],
    [
      'replaces the outcome that one source had reported',
      { fate: recorded('MINED', 15), verified: receipt(15, 'a', REVERTED) },
      'VERIFIED 15a failed',
    ],
    [
      'replaces the delivered amount that one source had reported',
      { fate: recorded('MINED', 15), verified: receipt(15, 'a', { deliveredBaseUnits: 99n }) },
      'VERIFIED 15a short',
    ],
    ['in another stored block', { fate: recorded('MINED', 15), verified: receipt(14) }, 'VERIFIED 14a'],
    [
      'in a stored block that is not deep enough',
      { fate: recorded('MINED', 15), verified: receipt(17) },
      'MINED 17a',
    ],
    ['invented by the source that was seen', { fate: recorded('MINED', 15), verified: 'none' }, 'ORPHANED'],
    ['in no block yet', { verified: 'none' }, ''],
    ['still orphaned', { fate: recorded('ORPHANED', 12), verified: 'none' }, ''],
    ['sources differ', { fate: recorded('MINED', 15), verified: 'disputed' }, 'waits'],
    ['one source alone knows it', { verified: 'disputed' }, 'waits'],
    [
      'two are heard where one says otherwise',
      { verified: receipt(12), seen: receipt(17, 'a', REVERTED) },
      'VERIFIED 12a',
    ],
    ['where another block is stored', { fate: recorded('MINED', 15), verified: receipt(15, 'b') }, 'waits'],
    ['above what was seen', { verified: receipt(25) }, ''],
    [
      'below all that is stored, in a block that two name',
      { verified: receipt(4), older: at(4) },
      'VERIFIED 4a',
    ],
    ['below all that is stored, in a block that nobody named', { verified: receipt(4) }, 'waits'],
    [
      'below all that is stored, where another block was named',
      { verified: receipt(4, 'b'), older: at(4) },
      'waits',
    ],
  ])('%s', (_, given, expected) => {
    expect(judged(given)).toBe(expected);
  });

  it('writes an unchanged outcome once', () => {
    expect(judged({ fate: recorded('VERIFIED', 12), verified: receipt(12) })).toBe('');
  });
});
