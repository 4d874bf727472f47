import { GatewayError } from '@opentill/domain/gateway-error';
import { activate, changeBalance, putAccount, type Execution, TOTALS_KEY } from './chain/execution.ts';
import { runContract } from './chain/run-contract.ts';
import { CONTRACT_RESULT } from './protobuf/messages.ts';
import { createdContractAddress } from './protobuf/transaction-json.ts';
import { newAccount } from './state/records.ts';
import { accountKey, fromBase58, toBase58 } from './tron-address.ts';
import { tronArtifact, tronCreationCode, transferData } from './tron-artifacts.ts';
import { messageFromJson } from './protobuf/json.ts';
import type { TronDevAccount } from './dev-accounts.ts';
import { sha256 } from './sha256.ts';

const DEV_TOKEN_DECIMALS = 6;
const TOKENS = { USDT: 'Tether USD', USDC: 'USD Coin' } as const;
export type DevTokenSymbol = keyof typeof TOKENS;

const RICH_SUN = 100_000_000_000_000n;
const RICH_TOKENS = 1_000_000_000n;
const SUPPLY_TOKENS = 1_000_000_000_000n;
const UNLIMITED_ENERGY = 1_000_000_000;
const ORIGIN_ENERGY_LIMIT = 10_000_000n;

/** The addresses depend only on the seed, so they are known before the node runs. */
export function devTokenAddresses(seed: string, deployer: TronDevAccount): Record<DevTokenSymbol, string> {
  const at = (symbol: DevTokenSymbol): string =>
    toBase58(createdContractAddress(creationId(seed, symbol), fromBase58(deployer.address)));
  return { USDT: at('USDT'), USDC: at('USDC') };
}

function creationId(seed: string, symbol: DevTokenSymbol): Uint8Array {
  return sha256(Buffer.from(`${seed} creation of ${symbol}`));
}

export async function fillGenesis(
  execution: Execution,
  options: {
    readonly seed: string;
    readonly accounts: readonly [TronDevAccount, ...TronDevAccount[]];
    /** Whole TRX staked outside of this devnet's accounts: bandwidth, energy. */
    readonly stakedTrx: readonly [bigint, bigint];
  },
): Promise<void> {
  const { state } = execution;
  const { accounts, seed } = options;
  state.set('totals', TOTALS_KEY, { weights: options.stakedTrx, burnedSun: 0n });
  for (const { address } of accounts) {
    activate(state, fromBase58(address), execution.head.timestampMs);
    changeBalance(state, fromBase58(address), RICH_SUN);
  }
  const owner = fromBase58(accounts[0].address);
  for (const symbol of Object.keys(TOKENS) as DevTokenSymbol[]) {
    const address = await createToken(execution, { seed, symbol, owner });
    for (const account of accounts.slice(1)) {
      const amount = RICH_TOKENS * 10n ** BigInt(DEV_TOKEN_DECIMALS);
      await run(execution, { owner, to: address, data: transferData(fromBase58(account.address), amount) });
    }
  }
}

async function createToken(
  execution: Execution,
  token: { readonly seed: string; readonly symbol: DevTokenSymbol; readonly owner: Uint8Array },
): Promise<Uint8Array> {
  const { seed, symbol, owner } = token;
  const txid = creationId(seed, symbol);
  const supply = SUPPLY_TOKENS * 10n ** BigInt(DEV_TOKEN_DECIMALS);
  const name = TOKENS[symbol];
  const bytecode = tronCreationCode('TronTether', [name, symbol, DEV_TOKEN_DECIMALS, supply]);
  await run(execution, { owner, to: undefined, data: bytecode, txid });
  const address = createdContractAddress(txid, owner);
  putAccount(execution.state, address, newAccount('CONTRACT', execution.head.timestampMs));
  execution.state.set('contract', accountKey(address), {
    originKey: accountKey(owner),
    userPercent: 100,
    originEnergyLimit: ORIGIN_ENERGY_LIMIT,
    name,
    abi: messageFromJson('Abi', { entrys: tronArtifact('TronTether').abi }, false),
    bytecode,
    createdBy: txid,
  });
  return address;
}

async function run(
  execution: Execution,
  call: {
    readonly owner: Uint8Array;
    readonly to: Uint8Array | undefined;
    readonly data: Uint8Array;
    readonly txid?: Uint8Array;
  },
): Promise<void> {
  const result = await runContract(execution, {
    txid: new Uint8Array(32),
    ...call,
    valueSun: 0n,
    energyLimit: UNLIMITED_ENERGY,
    factor: 0,
  });
  if (result.contractResult !== CONTRACT_RESULT.SUCCESS) {
    throw new GatewayError('GENESIS_FAILED', `a test token could not be deployed: ${result.failure}`, {
      retryable: false,
    });
  }
}
