import { GatewayError } from '@opentill/domain/gateway-error';
import { broadcast } from './chain/broadcast.ts';
import type { Chain } from './chain/chain.ts';
import { cycleOf } from './chain/dynamic-energy.ts';
import { TOTALS_KEY } from './chain/execution.ts';
import { isChainParameter, type ChainParameterName } from './chain/parameters.ts';
import { signHash } from './chain/signature.ts';
import type { DevnetClock } from './clock.ts';
import type { TronDevAccount } from './dev-accounts.ts';
import type { DevTokenSymbol } from './genesis.ts';
import type { Faults, TronFault } from './http/faults.ts';
import { newTransaction } from './http/new-transaction.ts';
import type { Mining } from './mining.ts';
import { RESOURCE, type Transaction } from './protobuf/messages.ts';
import { transactionId } from './protobuf/transaction-json.ts';
import { withResource, type EvmAccount, type Totals, type TronAccount } from './state/records.ts';
import { createState } from './state/state.ts';
import { accountKey, fromBase58, hexBytes, parseAddress } from './tron-address.ts';
import { transferData } from './tron-artifacts.ts';

export type TronControlErrorCode = 'BAD_CONTROL';

/** Actions of tests on the chain. Each is also `POST /devnet/<name>`. */
export interface TronControl {
  mine(count?: number): Promise<ChainSummary>;
  /** Adds `blocks` (default depth + 1). `drop` discards the removed transactions. Throws below the solidified block. */
  reorganise(depth: number, options?: { drop?: boolean; blocks?: number }): Promise<ChainSummary>;
  /** 0 mines only on request. */
  setBlockTimeMs(blockTimeMs: number): void;
  /** Delays the next block and advances the chain's clock by `byMs`. */
  stepTimeMs(byMs: number): void;
  pause(): void;
  resume(): void;
  /** Sets a contract's dynamic energy factor in 1/10,000 above 1 (maximum 34,000). */
  setEnergyFactor(contract: string, factor: number): Promise<void>;
  /** `name` is as in getchainparameters, with or without `get`. */
  setChainParameter(name: string, value: number): void;
  /** Sends from account 0 in ordinary transactions. Mines a block if the chain mines only on request. */
  fund(
    address: string,
    gift: { trxSun?: bigint; symbol?: DevTokenSymbol; amountBaseUnits?: bigint },
  ): Promise<{ txids: string[] }>;
  /** Stakes `sun` of an account for energy without a transaction, as if it had always been staked. */
  stake(address: string, sun: bigint): Promise<void>;
  fault(fault: TronFault): void;
  clearFaults(): void;
  summary(): ChainSummary;
}

export interface ChainSummary {
  readonly head: number;
  readonly headId: string;
  readonly headTimeMs: number;
  readonly solid: number;
  readonly pending: number;
  readonly reorganisations: number;
}

export interface ControlDeps {
  readonly chain: Chain;
  readonly mining: Mining;
  readonly clock: DevnetClock;
  readonly faults: Faults;
  readonly accounts: readonly [TronDevAccount, ...TronDevAccount[]];
  readonly tokens: Readonly<Record<DevTokenSymbol, string>>;
  /** Unique timestamps for account 0, because two equal transactions have the same id. */
  readonly nextTimestamp: () => number;
}

const FUNDING_FEE_LIMIT_SUN = 1_000_000_000;
const SUN_PER_TRX = 1_000_000n;

export function createControl(deps: ControlDeps): TronControl {
  const { chain, mining, clock } = deps;
  const summary = (): ChainSummary => ({
    head: chain.head.number,
    headId: chain.head.id,
    headTimeMs: chain.head.timestampMs,
    solid: chain.solidNumber,
    pending: chain.pending.size,
    reorganisations: chain.reorganisations,
  });
  return {
    summary,
    mine: async (count = 1) => {
      await mining.mine(count);
      return summary();
    },
    reorganise: async (depth, options = {}) => {
      await mining.reorganise(depth, options);
      return summary();
    },
    setBlockTimeMs: (blockTimeMs) => mining.setBlockTimeMs(blockTimeMs),
    stepTimeMs: (byMs) => {
      clock.step(byMs);
      mining.stepTimeMs(byMs);
    },
    fault: (fault) => deps.faults.add(fault),
    clearFaults: () => deps.faults.clear(),
    pause: () => mining.pause(),
    resume: () => mining.resume(),
    setEnergyFactor: async (contract, factor) => {
      const key = accountKey(parseAddress(contract));
      await chain.turns.take(() => setEnergyFactor(chain, key, factor));
    },
    stake: async (address, sun) => {
      const key = accountKey(parseAddress(address));
      await chain.turns.take(() => setStake(chain, key, sun));
    },
    setChainParameter: (name, value) => {
      const plain = name.replace(/^get(.)/, (_all, first: string) => first.toLowerCase());
      if (!isChainParameter(plain)) throw bad(`there is no chain parameter ${name}`);
      chain.parameters[plain satisfies ChainParameterName] = value;
    },
    fund: async (address, gift) => {
      const txids: string[] = [];
      if (gift.trxSun !== undefined && gift.trxSun > 0n) {
        const to = parseAddress(address);
        txids.push(await sendFromFirst(deps, 'TransferContract', { to_address: to, amount: gift.trxSun }));
      }
      if (gift.amountBaseUnits !== undefined && gift.amountBaseUnits > 0n) {
        const contract = fromBase58(deps.tokens[gift.symbol ?? 'USDT']);
        const data = transferData(parseAddress(address), gift.amountBaseUnits);
        txids.push(await sendFromFirst(deps, 'TriggerSmartContract', { contract_address: contract, data }));
      }
      if (mining.blockTimeMs() === 0) await mining.mine(1);
      return { txids };
    },
  };
}

/** Applies outside of blocks, so it also changes the undo logs: a reorganisation must not restore the old value. */
function setEnergyFactor(chain: Chain, contractKey: string, factor: number): void {
  const cycle = cycleOf(chain.head.timestampMs, chain.genesisTimeMs, chain.parameters);
  const state = createState(chain.committed);
  state.set('contractEnergy', contractKey, { cycle, usage: 0n, factor });
  chain.pendingState.set('contractEnergy', contractKey, { cycle, usage: 0n, factor });
  chain.committed.commit(state.changes);
  for (const [key, value] of state.changes) {
    for (let number = chain.solidNumber + 1; number <= chain.head.number; number++) {
      const undo = chain.blocks.get(number)?.undo;
      if (undo?.has(key)) undo.set(key, value);
    }
  }
}

/** Applies outside of blocks like setEnergyFactor: undo logs keep their other values. */
function setStake(chain: Chain, key: string, sun: bigint): void {
  const changes = {
    [`account:${key}`]: (account: TronAccount): TronAccount => ({
      ...account,
      staked: withResource(account.staked, RESOURCE.ENERGY, sun),
    }),
    [`evm:${key}`]: (account: EvmAccount): EvmAccount => ({ ...account, balance: account.balance - sun }),
    [`totals:${TOTALS_KEY}`]: (totals: Totals): Totals => ({
      ...totals,
      weights: withResource(totals.weights, RESOURCE.ENERGY, sun / SUN_PER_TRX),
    }),
  };
  const change = (id: string, value: unknown): unknown =>
    (changes as Record<string, (value: unknown) => unknown>)[id]?.(value);
  const state = createState(chain.committed);
  const balance = state.get('evm', key)?.balance ?? 0n;
  if (state.get('account', key) === undefined || balance < sun)
    throw bad('the account does not exist or has less than this stake');
  for (const id of Object.keys(changes))
    for (const layer of [chain.pendingState, state]) {
      const colon = id.indexOf(':');
      const kind = id.slice(0, colon) as 'account';
      const value = layer.read(id);
      if (value !== undefined) layer.set(kind, id.slice(colon + 1), change(id, value) as TronAccount);
    }
  chain.committed.commit(state.changes);
  for (let number = chain.solidNumber + 1; number <= chain.head.number; number++) {
    const undo = chain.blocks.get(number)?.undo;
    for (const id of Object.keys(changes)) {
      const before = undo?.get(id);
      if (before !== undefined) undo?.set(id, change(id, before));
    }
  }
}

async function sendFromFirst(deps: ControlDeps, type: string, parameter: object): Promise<string> {
  const { chain } = deps;
  const [{ address, privateKeyHex }] = deps.accounts;
  const isCall = type === 'TriggerSmartContract';
  const body = isCall ? { fee_limit: FUNDING_FEE_LIMIT_SUN } : {};
  const request = { chain, body, side: 'wallet', top: chain.head.number, visible: false } as const;
  const built = newTransaction(request, type, { owner_address: fromBase58(address), ...parameter });
  const timestamp = BigInt(deps.nextTimestamp());
  const unsigned: Transaction = { raw_data: { ...built.raw_data, timestamp } };
  const signature = [signHash(transactionId(unsigned), hexBytes(privateKeyHex))];
  const answer = await broadcast(chain, { ...unsigned, signature });
  if (answer.code !== 'SUCCESS') throw bad(`account 0 could not send: ${answer.code} ${answer.message}`);
  return answer.txid;
}

export function bad(message: string): GatewayError<TronControlErrorCode> {
  return new GatewayError('BAD_CONTROL', message, { retryable: false });
}
