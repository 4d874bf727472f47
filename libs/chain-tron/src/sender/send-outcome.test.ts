import { expect, test } from 'vitest';
import { sendOutcomeOf } from './send-outcome.ts';

const TX = 'ab'.repeat(32);

/** Recorded from java-tron 4.8.0, with other ids. */
test.each([
  ['ACCEPTED', { result: true, txid: TX }],
  ['KNOWN', { code: 'DUP_TRANSACTION_ERROR', txid: TX, message: 'Dup transaction.' }],
  ['KNOWN', { code: 'DUP_TRANSACTION_ERROR', txid: TX, message: 'Transaction already exists.' }],
  ['EXPIRED', { code: 'TRANSACTION_EXPIRATION_ERROR', txid: TX, message: 'Transaction expired' }],
  ['REFERENCE_UNKNOWN', { code: 'TAPOS_ERROR', txid: TX, message: 'Tapos check error.' }],
  [
    'NO_FUNDS',
    {
      code: 'CONTRACT_VALIDATE_ERROR',
      txid: TX,
      message: 'Contract validate error : account [TC5xa7rz2ksABJ4ECtEWgeNpbAT1fRv63S] does not exist',
    },
  ],
  [
    'NO_FUNDS',
    {
      code: 'CONTRACT_VALIDATE_ERROR',
      txid: TX,
      message: 'Contract validate error : Validate TransferContract error, balance is not sufficient.',
    },
  ],
  [
    'NO_FUNDS',
    { code: 'CONTRACT_EXE_ERROR', txid: TX, message: 'contract execute error : insufficient balance' },
  ],
  ['NO_FUNDS', { code: 'BANDWITH_ERROR', txid: TX, message: 'Account resource insufficient error.' }],
  // The same message in hex, as with visible: false.
  ['NO_FUNDS', { code: 'BANDWITH_ERROR', txid: TX, message: Buffer.from('insufficient').toString('hex') }],
  [
    'NO_FUNDS',
    {
      code: 'CONTRACT_VALIDATE_ERROR',
      txid: TX,
      message: Buffer.from('Validate TransferContract error, balance is not sufficient.').toString('hex'),
    },
  ],
  [
    'REFUSED',
    {
      code: 'CONTRACT_VALIDATE_ERROR',
      txid: TX,
      message: 'Contract validate error : No contract or not a smart contract',
    },
  ],
  ['REFUSED', { code: 'SIGERROR', txid: TX, message: 'Validate signature error' }],
  ['UNKNOWN', { code: 'SERVER_BUSY', txid: TX }],
  ['UNKNOWN', { code: 'NO_CONNECTION', txid: TX }],
  ['UNKNOWN', { code: 'NOT_ENOUGH_EFFECTIVE_CONNECTION', txid: TX }],
  ['UNKNOWN', { code: 'BLOCK_UNSOLIDIFIED', txid: TX }],
  ['UNKNOWN', { code: 'OTHER_ERROR', txid: TX }],
  ['UNKNOWN', { result: false }],
] as const)('maps an answer to %s: %j', (outcome, answer) => {
  expect(sendOutcomeOf(answer, TX).outcome).toBe(outcome);
});

test('treats an answer that names another transaction as UNKNOWN', () => {
  expect(sendOutcomeOf({ result: true, txid: 'cd'.repeat(32) }, TX)).toMatchObject({
    outcome: 'UNKNOWN',
    wrongHash: true,
  });
});
