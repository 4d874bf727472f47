import { describe, expect, test } from 'vitest';
import { readerError, type ReaderErrorCode } from '@opentill/chain/reader-error';
import { outcomeOfFailure } from './send-outcome.ts';

const refusal = (message: string, status = 'INVALID_ARGUMENT', code: ReaderErrorCode = 'RPC_REFUSED') =>
  outcomeOfFailure(readerError(code, message, { status })).outcome;

describe('outcomeOfFailure', () => {
  test.each([
    [
      'Transaction is rejected as invalid by more than 1/3 of validators by stake. Transaction Expired',
      'EXPIRED',
    ],
    [
      'Error checking transaction input objects: Invalid withdraw reservation: Available amount in account for object id 0x1 is less than requested: 1 < 2',
      'NO_FUNDS',
    ],
    ['Balance of gas object 10 is lower than the needed amount: 100', 'NO_FUNDS'],
    ['Invalid user signature: Required Signature from 0x1 is absent', 'REFUSED'],
    [
      'Transaction needs to be rebuilt because object 0x1 version 0x2 is unavailable for consumption',
      'REFUSED',
    ],
    ['Address 0x1 is denied for coin 0x2::usdc::USDC', 'REFUSED'],
  ])('classifies the error text: %s', (words, outcome) => expect(refusal(words)).toBe(outcome));

  test('treats a conflict with other finalised signatures as executed', () =>
    expect(refusal('already finalized with different user signatures', 'ABORTED')).toBe('KNOWN'));

  test.each([
    'RPC_UNAVAILABLE',
    'RPC_RATE_LIMITED',
    'BLOCK_NOT_FOUND',
    'WRONG_CHAIN',
    'READ_ABORTED',
  ] as const)('treats %s as unknown whatever its message says', (code) =>
    expect(refusal('Transaction Expired', 'UNAVAILABLE', code)).toBe('UNKNOWN'),
  );

  test('treats an error of another type as unknown', () =>
    expect(outcomeOfFailure(new Error('x')).outcome).toBe('UNKNOWN'));
});
