import { describe, expect, test } from 'vitest';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import type { SendOutcome } from '@opentill/chain/wallet-sender';
import { codeOfRpcError } from '../translate-rpc-error.ts';
import { bestOutcome, sendOutcomeOf } from './send-outcome.ts';

/** Software, code, message, outcome. */
const WORDINGS: readonly (readonly [string, number, string, SendOutcome])[] = [
  // The node has it.
  ['geth, bor, bsc, coreth, erigon, reth', -32000, 'already known', 'KNOWN'],
  ['erigon', -32000, 'ALREADY_EXISTS: already known', 'KNOWN'],
  ['erigon', -32000, 'existing tx with same hash', 'KNOWN'],
  ['erigon', -32000, 'INTERNAL_ERROR: mined', 'KNOWN'],
  ['geth before 1.9', -32000, `known transaction: ${'ab'.repeat(32)}`, 'KNOWN'],
  ['besu', -32000, 'Known transaction', 'KNOWN'],
  ['nethermind before 1.37', -32010, 'AlreadyKnown', 'KNOWN'],
  ['anvil', -32003, 'transaction already imported', 'KNOWN'],
  ['parity, openethereum', -32010, 'Transaction with the same hash was already imported.', 'KNOWN'],
  ['ganache', -32000, 'Transaction already exists', 'KNOWN'],
  ['a provider', -32000, 'Transaction already in pool', 'KNOWN'],
  ['a provider', -32000, 'tx already in mempool', 'KNOWN'],
  // The nonce is used.
  ['geth', -32000, 'nonce too low: next nonce 15, tx nonce 14', 'NONCE_TOO_LOW'],
  ['geth before 1.13, nethermind', -32000, 'nonce too low', 'NONCE_TOO_LOW'],
  [
    'coreth',
    -32000,
    'nonce too low: address 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed, current nonce (9) > tx nonce (8)',
    'NONCE_TOO_LOW',
  ],
  ['erigon', -32000, 'STALE: nonce too low', 'NONCE_TOO_LOW'],
  ['besu', -32001, 'Nonce too low', 'NONCE_TOO_LOW'],
  ['nethermind before 1.37', -32010, 'OldNonce, Current nonce: 5, nonce of rejected tx: 4', 'NONCE_TOO_LOW'],
  ['parity', -32010, 'Transaction nonce is too low. Try incrementing the nonce.', 'NONCE_TOO_LOW'],
  ['hardhat', -32000, 'Nonce too low. Expected nonce to be 3 but got 2.', 'NONCE_TOO_LOW'],
  ['a provider', -32000, 'nonce has already been used', 'NONCE_TOO_LOW'],
  // Another transaction with the nonce pays more, or no node accepts so little.
  ['geth, bor, bsc, reth, nethermind', -32000, 'replacement transaction underpriced', 'UNDERPRICED'],
  ['besu', -32000, 'Replacement transaction underpriced', 'UNDERPRICED'],
  ['nethermind before 1.37', -32010, 'ReplacementNotAllowed', 'UNDERPRICED'],
  ['erigon', -32000, 'INTERNAL_ERROR: could not replace existing tx', 'UNDERPRICED'],
  ['erigon', -32000, 'FEE_TOO_LOW: underpriced', 'UNDERPRICED'],
  ['erigon', -32000, 'fee too low', 'UNDERPRICED'],
  [
    'parity',
    -32010,
    'Transaction gas price supplied is too low. There is another transaction with same nonce in the queue. Try increasing the gas price or incrementing the nonce.',
    'UNDERPRICED',
  ],
  [
    'parity',
    -32010,
    "Transaction gas price 1wei is too low. It does not satisfy your node's minimal gas price (minimal: 1000000000wei).",
    'UNDERPRICED',
  ],
  ['geth', -32000, 'transaction underpriced', 'UNDERPRICED'],
  ['geth, infura', -32000, 'transaction underpriced: gas tip cap 0, minimum needed 1000000', 'UNDERPRICED'],
  [
    'bor',
    -32000,
    'transaction gas price below minimum: gas tip cap 1000000000, minimum needed 25000000000',
    'UNDERPRICED',
  ],
  ['besu', -32009, 'Gas price below configured minimum gas price', 'UNDERPRICED'],
  ['besu', -32009, 'Gas price below current base fee', 'UNDERPRICED'],
  ['nethermind before 1.37', -32010, 'FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1', 'UNDERPRICED'],
  ['nethermind before 1.37', -32010, 'FeeTooLowToCompete', 'UNDERPRICED'],
  [
    'nethermind',
    -32010,
    'Effective priority fee per gas 1 too low. Minimum required: 1000000000',
    'UNDERPRICED',
  ],
  ['erigon, geth', -32000, 'fee cap less than block base fee', 'UNDERPRICED'],
  [
    'geth',
    -32000,
    'max fee per gas less than block base fee: address 0x5aAe, maxFeePerGas: 1, baseFee: 7',
    'UNDERPRICED',
  ],
  ['anvil, reth', -32003, 'max fee per gas less than block base fee', 'UNDERPRICED'],
  // Not enough coin.
  [
    'geth, bor, bsc',
    -32000,
    'insufficient funds for gas * price + value: balance 0, tx cost 42000, overshot 42000',
    'NO_GAS_MONEY',
  ],
  ['reth', -32003, 'insufficient funds for gas * price + value: have 0 want 42000', 'NO_GAS_MONEY'],
  ['anvil', -32003, 'Insufficient funds for gas * price + value', 'NO_GAS_MONEY'],
  ['erigon', -32000, 'insufficient funds', 'NO_GAS_MONEY'],
  ['besu', -32004, 'Upfront cost exceeds account balance', 'NO_GAS_MONEY'],
  [
    'nethermind before 1.37',
    -32010,
    'InsufficientFunds, Balance is 0, less than sending value',
    'NO_GAS_MONEY',
  ],
  [
    'nethermind before 1.37',
    -32010,
    'InsufficientFunds, insufficient MaxFeePerGas for sender balance',
    'NO_GAS_MONEY',
  ],
  [
    'parity',
    -32010,
    'Insufficient funds. The account you tried to send transaction from does not have enough funds. Required 1 and got: 0.',
    'NO_GAS_MONEY',
  ],
  ['hardhat', -32000, "Sender doesn't have enough funds to send tx.", 'NO_GAS_MONEY'],
  // Rejected permanently, or until an operator has checked.
  ['geth', -32000, 'intrinsic gas too low: gas 20999, minimum needed 21000', 'REFUSED'],
  ['besu', -32003, 'Intrinsic gas exceeds gas limit', 'REFUSED'],
  ['anvil', -32602, 'intrinsic gas too low', 'REFUSED'],
  ['geth', -32000, 'exceeds block gas limit', 'REFUSED'],
  ['besu', -32005, 'Transaction gas limit exceeds block gas limit', 'REFUSED'],
  ['nethermind', -32010, 'gas limit reached', 'REFUSED'],
  ['geth', -32000, 'transaction gas limit too high (cap: 16777216, tx: 20000000)', 'REFUSED'],
  ['geth', -32000, 'tx fee (1.20 ether) exceeds the configured cap (1.00 ether)', 'REFUSED'],
  ['besu', -32000, 'Transaction fee cap exceeded', 'REFUSED'],
  ['geth', -32000, 'max priority fee per gas higher than max fee per gas', 'REFUSED'],
  ['geth', -32000, 'invalid sender', 'REFUSED'],
  ['geth', -32000, 'invalid chain id for signer: have 1 want 5', 'REFUSED'],
  ['geth', -32000, 'transaction type not supported', 'REFUSED'],
  ['geth', -32000, 'oversized data: transaction size 200000, limit 131072', 'REFUSED'],
  ['geth', -32000, 'rlp: value size exceeds available input length', 'REFUSED'],
  ['besu', -32602, 'Invalid transaction type', 'REFUSED'],
  ['a node', -32000, 'the moon stands in the seventh house', 'REFUSED'],
  // Not now; it may have arrived, or arrives later.
  ['geth, reth', -32000, 'txpool is full', 'UNKNOWN'],
  ['erigon', -32000, 'INTERNAL_ERROR: pending sub-pool is full', 'UNKNOWN'],
  ['geth', -32000, 'account limit exceeded: pooled 64 txs', 'UNKNOWN'],
  ['geth, alchemy', -32000, 'in-flight transaction limit reached for delegated accounts', 'UNKNOWN'],
  ['geth', -32000, 'gapped-nonce tx from delegated accounts', 'UNKNOWN'],
  ['geth', -32000, 'future transaction tries to replace pending', 'UNKNOWN'],
  ['geth', -32000, 'address already reserved', 'UNKNOWN'],
  ['geth', -32000, 'nonce too high', 'UNKNOWN'],
  ['besu', -32006, 'Nonce too high', 'UNKNOWN'],
  ['nethermind before 1.37', -32010, 'NonceGap, Future nonce. Expected nonce: 4', 'UNKNOWN'],
  ['nethermind', -32010, 'nonce too far in future', 'UNKNOWN'],
  ['reth', -32003, 'transaction discarded outright due to pool size constraints', 'UNKNOWN'],
  [
    'besu',
    -32002,
    'Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).',
    'UNKNOWN',
  ],
  ['a provider', -32005, 'daily request count exceeded, request rate limited', 'UNKNOWN'],
  ['a provider', 429, 'Too Many Requests', 'UNKNOWN'],
  ['a provider', -32603, 'Internal error', 'UNKNOWN'],
  ['besu', -32603, 'Timeout expired', 'UNKNOWN'],
  ['drpc', 19, 'Temporary internal error. Please retry', 'UNKNOWN'],
  ['a provider', -32000, 'request timed out', 'UNKNOWN'],
  ['a provider', -32601, 'the method eth_sendRawTransaction does not exist/is not available', 'UNKNOWN'],
  ['a provider', -32600, 'Unauthorized: must be authenticated', 'UNKNOWN'],
];

describe('sendOutcomeOf', () => {
  test.each(WORDINGS)('translates the rejection of %s: %d %s', (_, rpcCode, said, outcome) => {
    const code = codeOfRpcError({ code: rpcCode, message: said });
    expect(sendOutcomeOf(readerError(code, 'the node answered an error', { rpcCode, said }))).toBe(outcome);
  });

  test.each<ReaderErrorCode>(['RPC_UNAVAILABLE', 'RPC_RATE_LIMITED', 'RPC_FORBIDDEN', 'RPC_METHOD_MISSING'])(
    'returns UNKNOWN for %s without a message',
    (code) => {
      expect(sendOutcomeOf(readerError(code, 'no words'))).toBe('UNKNOWN');
    },
  );

  test('counts no rejection as acceptance', () => {
    for (const [, , said] of WORDINGS)
      expect(sendOutcomeOf(readerError('RPC_REFUSED', '', { said }))).not.toBe('ACCEPTED');
  });
});

describe('bestOutcome', () => {
  test('prefers one acceptance to all rejections', () => {
    expect(bestOutcome(['REFUSED', 'UNKNOWN', 'ACCEPTED', 'KNOWN'])).toBe('ACCEPTED');
    expect(bestOutcome(['NO_GAS_MONEY', 'NONCE_TOO_LOW', 'UNDERPRICED'])).toBe('NONCE_TOO_LOW');
    expect(bestOutcome(['UNKNOWN', 'REFUSED'])).toBe('REFUSED');
    expect(bestOutcome([])).toBe('UNKNOWN');
  });
});
