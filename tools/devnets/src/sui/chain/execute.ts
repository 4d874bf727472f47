import { SUI_TYPE } from '../coin-type.ts';
import { fundsChange, type EmptyChain } from './chain.ts';
import type { CheckedTransaction } from './check-transaction.ts';
import { outcomeOf } from './effects.ts';
import type { ExecutionFailure } from './execution-error.ts';
import { isGaslessOutcome } from './gasless.ts';
import { computationCost, isAffordable, storageGas } from './gas.ts';
import { createMachine, type LiveCoin, type Machine } from './machine.ts';
import { coinObject, type SuiObject } from './object.ts';
import { runProgram, type ProgramRun } from './run-program.ts';
import { netGas, NO_GAS, type GasSummary, type ObjectChange, type Outcome } from './transaction.ts';

interface Execution {
  readonly chain: EmptyChain;
  readonly checked: CheckedTransaction;
  readonly digest: string;
  readonly lamportVersion: bigint;
  readonly budget: bigint;
  readonly gasCoin: LiveCoin | undefined;
}

/** Id of the gas coin if only an address balance pays. No real coin has this id. */
const FUNDS_GAS_COIN_ID = `0x${'0'.repeat(64)}`;

export function execute(chain: EmptyChain, checked: CheckedTransaction, digest: string): Outcome {
  const objects = inputsOf(checked);
  const budget = BigInt(checked.data.gasData.budget);
  const lamportVersion =
    objects.reduce((newest, { version }) => (version > newest ? version : newest), 0n) + 1n;
  const gasCoin = gasCoinOf(checked, budget);
  const execution: Execution = { chain, checked, digest, lamportVersion, budget, gasCoin };
  const shortfall = findShortfall(chain, checked);
  const settled = shortfall === undefined ? runAndCharge(execution) : cancel(execution, shortfall);
  const callsFramework = checked.program.commands.some(({ $kind }) => $kind === 'MoveCall');
  return outcomeOf({
    transactionDigest: digest,
    epoch: chain.epoch.number,
    lamportVersion,
    gasObjectId: checked.gas.kind === 'coins' ? checked.gasCoins[0]?.id : undefined,
    dependencies: [
      ...objects.map(({ previousTransaction }) => previousTransaction),
      ...(callsFramework ? [chain.frameworkTransaction] : []),
    ],
    ...settled,
  });
}

interface Settled {
  readonly failure: ExecutionFailure | undefined;
  readonly gas: GasSummary;
  readonly changes: readonly ObjectChange[];
}

function inputsOf(checked: CheckedTransaction): readonly SuiObject[] {
  return [...checked.inputObjects.filter((object) => object !== undefined), ...checked.gasCoins];
}

/** Gas coin that programs may use. The budget is already deducted from it. */
function gasCoinOf({ gas, gasCoins }: CheckedTransaction, budget: bigint): LiveCoin | undefined {
  if (gas.kind !== 'coins' && gas.kind !== 'reservation') return undefined;
  const reserved = gas.kind === 'reservation' ? gas.reservedMist : 0n;
  const total = gasCoins.reduce((sum, { coin }) => sum + (coin?.balance ?? 0n), reserved);
  const from = gas.kind === 'coins' ? gasCoins[0] : undefined;
  const id = from?.id ?? FUNDS_GAS_COIN_ID;
  return {
    id,
    coinType: SUI_TYPE,
    balance: total - budget,
    from,
    state: 'kept',
    owner: undefined,
    isGas: true,
  };
}

/** Another transaction may have spent the balance since the checks. */
function findShortfall(chain: EmptyChain, { withdrawals }: CheckedTransaction): ExecutionFailure | undefined {
  const isShort = [...withdrawals].some(([key, amount]) => (chain.funds.get(key) ?? 0n) < amount);
  return isShort ? { reason: { kind: 'INSUFFICIENT_FUNDS_FOR_WITHDRAW' }, command: undefined } : undefined;
}

/** Skips execution. Gas coins still pay. Address balances do not, because they may be too low. */
function cancel(execution: Execution, failure: ExecutionFailure): Settled {
  if (execution.checked.gas.kind === 'coins') return charge(execution, failure, undefined);
  return { failure, gas: NO_GAS, changes: untouchedInputs(execution) };
}

function runAndCharge(execution: Execution): Settled {
  const { chain, checked, digest, gasCoin } = execution;
  const machine = createMachine({ sender: checked.data.sender, digest, coinInfo: chain.coins });
  const run = runProgram(machine, checked, gasCoin);
  if (checked.gas.kind !== 'gasless') return charge(execution, run.failure, { machine, run });
  const changes = run.failure === undefined ? changesOf(execution, machine, run) : [];
  if (run.failure === undefined && isGaslessOutcome(chain, changes)) {
    return { failure: undefined, gas: NO_GAS, changes };
  }
  const notGasless: ExecutionFailure = { reason: { kind: 'INSUFFICIENT_GAS' }, command: undefined };
  return { failure: run.failure ?? notGasless, gas: NO_GAS, changes: untouchedInputs(execution) };
}

/** Charges for the program's work. If that exceeds the budget, discards the work and charges the base costs. */
function charge(
  execution: Execution,
  failure: ExecutionFailure | undefined,
  done: { readonly machine: Machine; readonly run: ProgramRun } | undefined,
): Settled {
  const { checked, budget } = execution;
  const price = BigInt(checked.data.gasData.price);
  if (failure === undefined && done !== undefined) {
    const changes = changesOf(execution, done.machine, done.run);
    const gas = summarise(execution, changes, computationCost(checked.program, changes, price));
    if (isAffordable(gas, budget)) return pay(execution, undefined, gas, changes);
  }
  const changes = untouchedInputs(execution);
  const computation = computationCost(checked.program, changes, price);
  const gas = summarise(execution, changes, computation < budget ? computation : budget);
  const outOfGas: ExecutionFailure = { reason: { kind: 'INSUFFICIENT_GAS' }, command: undefined };
  if (execution.gasCoin !== undefined) restoreGasCoin(execution, execution.gasCoin);
  if (isAffordable(gas, budget)) return pay(execution, failure ?? outOfGas, gas, changes);
  const clipped = { ...gas, storageCost: budget - gas.computationCost + gas.storageRebate };
  return pay(execution, outOfGas, clipped, changes);
}

function restoreGasCoin({ checked, budget }: Execution, coin: LiveCoin): void {
  const fresh = gasCoinOf(checked, budget);
  coin.balance = fresh?.balance ?? 0n;
  coin.state = 'kept';
  coin.owner = undefined;
}

function changesOf(execution: Execution, machine: Machine, run: ProgramRun): readonly ObjectChange[] {
  const changes: ObjectChange[] = [];
  for (const coin of run.inputCoins) {
    if (coin.from === undefined) continue;
    if (coin.state === 'gone') changes.push({ kind: 'deleted', id: coin.id, before: coin.from });
    else
      changes.push({
        kind: 'mutated',
        id: coin.id,
        before: coin.from,
        after: written(execution, coin, coin.from),
      });
  }
  for (const coin of machine.created) {
    if (coin.state === 'sent')
      changes.push({ kind: 'created', id: coin.id, after: written(execution, coin) });
  }
  for (const { address, coinType, delta } of machine.funds.values()) {
    changes.push(fundsChange(address, coinType, delta));
  }
  return changes;
}

function written(
  { lamportVersion, digest, checked }: Execution,
  coin: LiveCoin,
  from?: SuiObject,
): SuiObject {
  const given = coin.owner ?? from?.owner ?? { kind: 'address', address: checked.data.sender };
  const isNew = given.kind === 'consensus' && coin.owner !== undefined;
  const owner = isNew ? { ...given, startVersion: lamportVersion } : given;
  const object = { id: coin.id, version: lamportVersion, owner, previousTransaction: digest };
  return coinObject(object, coin.coinType, coin.balance);
}

/** A failed transaction rewrites its inputs unchanged, in a new version. */
function untouchedInputs(execution: Execution): readonly ObjectChange[] {
  const { lamportVersion: version, digest: previousTransaction } = execution;
  return execution.checked.inputObjects.flatMap((before): ObjectChange[] => {
    if (before?.coin === undefined) return [];
    const object = { id: before.id, version, owner: before.owner, previousTransaction };
    const after = coinObject(object, before.coin.coinType, before.coin.balance);
    return [{ kind: 'mutated', id: before.id, before, after }];
  });
}

function summarise(execution: Execution, changes: readonly ObjectChange[], computation: bigint): GasSummary {
  return { computationCost: computation, ...storageGas([...changes, ...gasChanges(execution, 0n)]) };
}

/** The first gas coin, or the address balance, receives the remainder. The other gas coins are deleted. */
function gasChanges(execution: Execution, netMist: bigint): readonly ObjectChange[] {
  const { checked, gasCoin, budget } = execution;
  const [first, ...rest] = checked.gasCoins;
  if (gasCoin === undefined || first === undefined) return [];
  const deleted = (checked.gas.kind === 'coins' ? rest : checked.gasCoins).map((before): ObjectChange => ({
    kind: 'deleted',
    id: before.id,
    before,
  }));
  if (checked.gas.kind !== 'coins') return deleted;
  const left = { ...gasCoin, balance: gasCoin.balance + budget - netMist };
  return [
    { kind: 'mutated', id: first.id, before: first, after: written(execution, left, first) },
    ...deleted,
  ];
}

function pay(
  execution: Execution,
  failure: ExecutionFailure | undefined,
  gas: GasSummary,
  changes: readonly ObjectChange[],
): Settled {
  const { owner } = execution.checked.data.gasData;
  const isRefunded = failure === undefined && execution.chain.parameters.gasGivenBackTo === owner;
  const net = isRefunded ? 0n : netGas(gas);
  const paid = [...changes, ...gasChanges(execution, net)];
  const { checked, gasCoin, budget } = execution;
  if (checked.gas.kind === 'funds') return { failure, gas, changes: addFunds(paid, owner, -net) };
  if (checked.gas.kind !== 'reservation') return { failure, gas, changes: paid };
  const left = (gasCoin?.balance ?? 0n) + budget - net;
  return { failure, gas, changes: addFunds(paid, owner, left - checked.gas.reservedMist) };
}

/** Merges gas and program changes, because effects have one write per address balance. */
function addFunds(changes: readonly ObjectChange[], address: string, delta: bigint): readonly ObjectChange[] {
  const change = fundsChange(address, SUI_TYPE, delta);
  const other = changes.find(({ id }) => id === change.id);
  if (other?.kind !== 'funds') return delta === 0n ? changes : [...changes, change];
  return [...changes.filter(({ id }) => id !== change.id), { ...change, delta: delta + other.delta }];
}
