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

/** Stored: blocks 10 to 20 of branch a; verified: 15. */
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
  readonly older?: FateAnswers['olderBlocks'];
  readonly after?: ChainState;
}

/** `MINED 17a`, `VERIFIED 12a failed`, `ORPHANED`, or nothing. */
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
    olderBlocks: older,
  });
  const said = changes.map((change) => {
    if (change.state === 'ORPHANED') return 'ORPHANED';
    const { succeeded, deliveredBaseUnits, blockHash } = change.fate;
    const told = `${change.state} ${blockHash.slice(2)}`;
    return succeeded ? (deliveredBaseUnits === 100n ? told : `${told} short`) : `${told} failed`;
  });
  return [...said, ...waiting.map(() => 'waits')].join(', ');
}

describe('by the word of one source', () => {
  it.each<[string, Case, string]>([
    ['in no block', {}, ''],
    ['in a stored block', { seen: receipt(17) }, 'MINED 17a'],
    ['in a stored block, failed', { seen: receipt(17, 'a', REVERTED) }, 'MINED 17a failed'],
    ['in a block that is not stored', { seen: receipt(17, 'b') }, ''],
    ['in a block above the stored ones', { seen: receipt(21) }, ''],
    ['in a block where two have to be heard', { seen: receipt(15) }, ''],
    ['in a block below the stored ones', { seen: receipt(3) }, ''],
    ['again, once orphaned', { fate: recorded('ORPHANED', 17, 'b'), seen: receipt(18) }, 'MINED 18a'],
    [
      'again in the very block it was orphaned of',
      { fate: recorded('ORPHANED', 18), seen: receipt(18) },
      'MINED 18a',
    ],
    ['not found any more while its block stands', { fate: recorded('MINED', 17) }, ''],
    ['as recorded', { fate: recorded('MINED', 17), seen: receipt(17) }, ''],
    ['verified, whatever one says', { fate: recorded('VERIFIED', 12), seen: receipt(12, 'a', REVERTED) }, ''],
    ['verified below all that is stored', { fate: recorded('VERIFIED', 4) }, ''],
    ['orphaned and nowhere', { fate: recorded('ORPHANED', 17, 'b') }, ''],
  ])('%s', (_, given, expected) => {
    expect(judged(given)).toBe(expected);
  });
});

describe('when its block left the chain', () => {
  it.each<[string, Case, string]>([
    ['and it is nowhere', { fate: recorded('MINED', 17, 'b') }, 'ORPHANED'],
    ['and it was above what is stored now', { fate: recorded('MINED', 23, 'b') }, 'ORPHANED'],
    ['it moves', { fate: recorded('MINED', 17, 'b'), seen: receipt(18) }, 'MINED 18a'],
    [
      'it moves and fails there',
      { fate: recorded('MINED', 17, 'b'), seen: receipt(17, 'a', REVERTED) },
      'MINED 17a failed',
    ],
    ['one that was verified moves', { fate: recorded('VERIFIED', 17, 'b'), seen: receipt(18) }, 'MINED 18a'],
    ['one that was verified is taken back', { fate: recorded('VERIFIED', 16, 'b') }, 'ORPHANED'],
    [
      'a receipt of the block that left is none',
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

describe('by the word of two sources', () => {
  const at = (height: number): FateAnswers['olderBlocks'] =>
    new Map([[hashAt(height), { height, hash: hashAt(height), timeSeconds: 1 }]]);

  it.each<[string, Case, string]>([
    ['at the verified height', { fate: recorded('MINED', 15), verified: receipt(15) }, 'VERIFIED 15a'],
    ['never mined for anybody until now', { verified: receipt(12) }, 'VERIFIED 12a'],
    [
      'orphaned, and there after all',
      { fate: recorded('ORPHANED', 12), verified: receipt(12) },
      'VERIFIED 12a',
    ],
    [
      'otherwise than one source had said',
      { fate: recorded('MINED', 15), verified: receipt(15, 'a', REVERTED) },
      'VERIFIED 15a failed',
    ],
    [
      'with less delivered than one source had said',
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

  it('is written once', () => {
    expect(judged({ fate: recorded('VERIFIED', 12), verified: receipt(12) })).toBe('');
  });
});
