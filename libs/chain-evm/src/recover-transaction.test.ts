import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { Interface } from 'ethers/abi';
import { Transaction, type TransactionLike } from 'ethers/transaction';
import { Wallet } from 'ethers/wallet';
import { recoverTransaction } from './recover-transaction.ts';

const KEY = new Wallet(`0x${'11'.repeat(32)}`);
const WALLET = KEY.address.toLowerCase() as Address;
const TOKEN = '0x00000000000000000000000000000000000000aa';
const RECEIVER = '0x00000000000000000000000000000000000000bb';
const CHAIN_ID = 1337;
const TRANSFER = new Interface(['function transfer(address,uint256)']);
const hex = (value: bigint | number) => `0x${value.toString(16)}`;

async function listed(fields: TransactionLike = {}, key = KEY): Promise<Record<string, unknown>> {
  const raw = await key.signTransaction({
    type: 2,
    chainId: CHAIN_ID,
    nonce: 7,
    to: RECEIVER,
    value: 5n,
    data: '0x',
    gasLimit: 65_000n,
    maxFeePerGas: 30n,
    maxPriorityFeePerGas: 2n,
    ...fields,
  });
  const tx = Transaction.from(raw);
  return {
    raw,
    hash: tx.hash,
    type: hex(tx.type ?? 0),
    nonce: hex(tx.nonce),
    gas: hex(tx.gasLimit),
    maxFeePerGas: hex(tx.maxFeePerGas ?? 0n),
    maxPriorityFeePerGas: hex(tx.maxPriorityFeePerGas ?? 0n),
    to: tx.to,
    value: hex(tx.value),
    input: tx.data,
    chainId: hex(CHAIN_ID),
    accessList: [],
    r: hex(BigInt(tx.signature!.r)), // nodes omit leading zeros
    s: hex(BigInt(tx.signature!.s)),
    v: hex(tx.signature!.yParity),
  };
}

const recover = (answer: unknown) => recoverTransaction(answer, WALLET, CHAIN_ID);

describe('recoverTransaction', () => {
  test.each([
    ['coin', {}, { kind: 'PAYMENT', contract: null, to: RECEIVER, amountBaseUnits: 5n }],
    [
      'a token',
      { to: TOKEN, value: 0n, data: TRANSFER.encodeFunctionData('transfer', [RECEIVER, 99n]) },
      { kind: 'PAYMENT', contract: TOKEN, to: RECEIVER, amountBaseUnits: 99n },
    ],
    ['a cancel', { to: WALLET, value: 0n }, { kind: 'NOTHING' }],
    ['another call', { to: TOKEN, value: 0n, data: '0x12345678' }, { kind: 'OTHER' }],
    [
      'a token transfer with coin',
      { to: TOKEN, value: 1n, data: TRANSFER.encodeFunctionData('transfer', [RECEIVER, 99n]) },
      { kind: 'OTHER' },
    ],
  ])('restores bytes and aim of %s', async (_, fields, aim) => {
    const answer = await listed(fields);
    const recovered = recover(answer);
    expect(recovered).toMatchObject({ txHash: answer['hash'], nonce: 7, aim });
    expect(`0x${Buffer.from(recovered.raw).toString('hex')}`).toBe(answer['raw']);
    expect(recovered.terms).toEqual({ gasLimit: 65_000n, maxFeePerGas: 30n, maxPriorityFeePerGas: 2n });
  });

  test.each([
    ['hash', `0x${'00'.repeat(32)}`],
    ['nonce', '0x8'],
    ['gas', '0x1'],
    ['maxFeePerGas', '0x20'],
    ['maxPriorityFeePerGas', '0x1'],
    ['to', TOKEN],
    ['value', '0x6'],
    ['input', '0x00'],
    ['r', '0x1'],
    ['s', '0x1'],
    ['v', '0x9'],
  ])('rejects an answer with a changed %s', async (field, value) => {
    let answer = await listed();
    if (field === 'v') answer = { ...answer, v: answer['v'] === '0x0' ? '0x1' : '0x0' };
    else answer = { ...answer, [field]: value };
    expect(() => recover(answer)).toThrow(expect.objectContaining({ code: 'INCONSISTENT_ANSWER' }));
  });

  test('rejects a transaction that another key signed', async () => {
    const answer = await listed({}, new Wallet(`0x${'22'.repeat(32)}`));
    expect(() => recover(answer)).toThrow(expect.objectContaining({ code: 'INCONSISTENT_ANSWER' }));
  });

  test('reports only the nonce of a transaction of another type', async () => {
    expect(recover({ ...(await listed()), type: '0x0' })).toMatchObject({
      nonce: 7,
      aim: { kind: 'OTHER' },
      terms: undefined,
    });
    expect(recover({ ...(await listed()), to: null })).toMatchObject({ aim: { kind: 'OTHER' } });
  });
});
