import { describe, expect, test } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import { AbiCoder } from 'ethers';
import { failureDetail, isExecutionFailure } from './revert-reason.ts';

const refusal = (rpcCode: number, said: string, data?: string): ReturnType<typeof readerError> =>
  readerError('RPC_REFUSED', `the node answered an error: ${said}`, {
    rpcCode,
    said,
    ...(data === undefined ? {} : { data }),
  });
const encoded = (type: string, value: unknown): string =>
  AbiCoder.defaultAbiCoder().encode([type], [value]).slice(2);

describe('isExecutionFailure', () => {
  test.each([
    ['geth', 3, 'execution reverted: Pausable: paused'],
    ['besu', -32000, 'Execution reverted'],
    ['nethermind', -32015, 'VM execution error.'],
    ['anvil', 3, 'execution reverted: paused'],
    ['geth, the coin', -32000, 'insufficient funds for transfer'],
    ['geth, the coin', -32000, 'insufficient funds for gas * price + value: address 0x5aAe have 0 want 1'],
    ['anvil, the coin', -32003, 'Insufficient funds for gas * price + value'],
    ['erigon, the coin', -32000, 'insufficient balance for transfer'],
    ['besu, the coin', -32004, 'Upfront cost exceeds account balance'],
    ['geth', -32000, 'gas required exceeds allowance (50000000)'],
    ['geth', -32000, 'out of gas'],
    ['reth', -32003, 'out of gas: gas exhausted: 50000000'],
    ['reth', -32003, 'EVM error: InvalidFEOpcode'],
    ['geth', -32000, 'invalid opcode: INVALID'],
    ['geth', -32000, 'invalid jump destination'],
    ['geth', -32000, 'stack limit reached 1024 (1023)'],
    ['geth', -32000, 'max call depth exceeded'],
    ['geth', -32000, 'write protection'],
    ['nethermind', -32015, 'StaticCallViolation'],
  ])('takes an error of %s for an execution failure: %d %s', (_, code, said) => {
    expect(isExecutionFailure(refusal(code, said))).toBe(true);
  });

  test.each([
    [-32000, 'missing trie node 5aae (path ) state 0x5aae is not available'],
    [-32000, 'header not found'],
    [-32603, 'Internal error'],
    [-32000, 'execution aborted (timeout = 5s)'],
    [429, 'Too Many Requests'],
    [-32005, 'daily request count exceeded'],
    [-32601, 'the method eth_call does not exist/is not available'],
  ])('does not take a node fault for an execution failure: %d %s', (code, said) => {
    expect(isExecutionFailure(refusal(code, said))).toBe(false);
  });
});

describe('failureDetail', () => {
  test.each([
    [
      "a contract's message",
      `0x08c379a0${encoded('string', 'Pausable: paused')}`,
      'reverted: Pausable: paused',
    ],
    ['a panic', `0x4e487b71${encoded('uint256', 0x11)}`, 'reverted: panic 0x11'],
    ['a known error', `0xe450d38c${'0'.repeat(192)}`, 'reverted with ERC20InsufficientBalance'],
    ['an unknown error', '0xdeadbeef', 'reverted with the error 0xdeadbeef'],
    ['broken data', '0x08c379a0ffff', 'reverted with malformed data (0x08c379a0)'],
    ['too little data', '0x08', 'execution reverted'],
    ['no data', undefined, 'execution reverted'],
  ])('describes a revert with %s', (_, data, detail) => {
    expect(failureDetail(refusal(3, 'execution reverted', data))).toBe(detail);
  });

  test('describes a revert in one line of at most 200 printable ASCII characters', () => {
    const words = `\u001b[31mred\nnew line \u202e${'x'.repeat(500)}`;
    const detail = failureDetail(refusal(3, 'execution reverted', `0x08c379a0${encoded('string', words)}`));
    expect(detail).toMatch(/^reverted: \[31mred new line x+$/);
    expect(detail.length).toBe(200);
  });
});
