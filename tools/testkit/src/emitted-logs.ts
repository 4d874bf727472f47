import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Interface, toBeHex, zeroPadValue } from 'ethers';
import type { Movement } from './chain-harness.ts';

/** Log that the emitter emits: contract (`0x` and 20 bytes), topics, data. */
export interface EmittedLog {
  readonly at: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** keccak256 of "Transfer(address,address,uint256)" and "Approval(address,address,uint256)". */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const APPROVAL_TOPIC = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925';

const word = (address: string): string => zeroPadValue(address, 32);
const amountWord = (amount: bigint): string => toBeHex(amount, 32);

interface LogEmitter {
  readonly abi: Interface;
  readonly bytecode: string;
}

let compiled: LogEmitter | undefined;

/** Compiles once per process. */
export function compileLogEmitter(): LogEmitter {
  return (compiled ??= compile());
}

function compile(): LogEmitter {
  const require = createRequire(import.meta.url);
  const solc = require('solc') as { compile(input: string): string };
  const content = readFileSync(`${import.meta.dirname}/log-emitter.sol`, 'utf8');
  const settings = { evmVersion: 'paris', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } };
  const output = JSON.parse(
    solc.compile(
      JSON.stringify({ language: 'Solidity', sources: { 'log-emitter.sol': { content } }, settings }),
    ),
  ) as {
    errors?: unknown;
    contracts: Record<string, Record<string, { abi: []; evm: { bytecode: { object: string } } }>>;
  };
  const contract = output.contracts['log-emitter.sol']?.['LogEmitter'];
  if (contract === undefined) throw new Error(JSON.stringify(output.errors));
  return { abi: new Interface(contract.abi), bytecode: `0x${contract.evm.bytecode.object}` };
}

/** Logs of a movement. All addresses are `0x` and 20 bytes. */
export function logsOf(
  movement: Movement,
  tokens: readonly [string, string],
  fake: string,
  payer: string,
): readonly EmittedLog[] {
  switch (movement.kind) {
    case 'transfer': {
      const topics = [TRANSFER_TOPIC, word(movement.from ?? payer), word(movement.to)];
      return [{ at: tokens[movement.token], topics, data: amountWord(movement.amount) }];
    }
    case 'fakeToken':
      return [
        {
          at: fake,
          topics: [TRANSFER_TOPIC, word(payer), word(movement.to)],
          data: amountWord(movement.amount),
        },
      ];
    case 'malformed': {
      const topics = [TRANSFER_TOPIC, word(payer), word(movement.to)];
      return [
        // Transfers of an NFT, without an amount, with half an amount, with too much data, and without a recipient.
        { at: tokens[0], topics: [...topics, amountWord(7n)], data: '0x' },
        { at: tokens[0], topics, data: '0x' },
        { at: tokens[0], topics, data: amountWord(7n).slice(0, 34) },
        { at: tokens[0], topics, data: `${amountWord(7n)}${amountWord(7n).slice(2)}` },
        { at: tokens[0], topics: topics.slice(0, 2), data: amountWord(7n) },
        {
          at: tokens[0],
          topics: [TRANSFER_TOPIC],
          data: `${word(payer)}${word(movement.to).slice(2)}${amountWord(7n).slice(2)}`,
        },
        {
          at: tokens[0],
          topics: [TRANSFER_TOPIC, word(payer), amountWord(2n ** 255n)],
          data: amountWord(7n),
        },
      ];
    }
    case 'otherEvent':
      return [{ at: tokens[0], topics: [APPROVAL_TOPIC, word(payer), word(fake)], data: amountWord(7n) }];
  }
}
