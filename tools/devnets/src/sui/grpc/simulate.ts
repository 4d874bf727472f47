import { randomInt } from 'node:crypto';
import { GrpcTypes } from '@mysten/sui/grpc';
import { toBase58 } from '@mysten/sui/utils';
import { SUI_TYPE } from '../coin-type.ts';
import { fundsOf, type Chain } from '../chain/chain.ts';
import {
  checkTransaction,
  uncheckedTransaction,
  type CheckedTransaction,
} from '../chain/check-transaction.ts';
import { fundsLeftForGas } from '../chain/check-withdrawals.ts';
import { execute } from '../chain/execute.ts';
import { gasPaymentOf, writeReservation } from '../chain/gas-payment.ts';
import { isGaslessProgram } from '../chain/gasless.ts';
import { coinObject, type SuiObject } from '../chain/object.ts';
import { LIMITS } from '../chain/parameters.ts';
import { refuse } from '../chain/refusal.ts';
import {
  parseTransaction,
  programOf,
  transactionBytes,
  transactionDigest,
  type ObjectReference,
  type TransactionData,
  type TransactionRecord,
} from '../chain/transaction.ts';
import { compareOwned } from './show-object.ts';
import { resolveTransaction } from './resolve-transaction.ts';

interface SimulationOptions {
  /** The client understands expirations that name proposers. */
  readonly namesProposers: boolean;
}

const { SimulateTransactionRequest_TransactionChecks: Checks } = GrpcTypes;

/** Coin of simulations without gas: ObjectID::MAX. */
const MOCK_COIN_ID = `0x${'f'.repeat(64)}`;
const MOCK_BALANCE = 1_000_000_000_000_000_000n;
const ZERO_DIGEST = toBase58(new Uint8Array(32));
/** Computation units added to an estimate. */
const SAFE_OVERHEAD_UNITS = 1_000n;
/** Units for reading another gas coin: almost none, but rounded up. */
const GAS_COIN_READ_UNITS = 40n * 15n;
/** Committee indices of three proposers. Up to three are free of charge. */
const PROPOSERS = [0, 1, 2];

/** Chooses gas first if the client sent a draft. Throws GatewayError<RefusalCode>. */
export function simulate(
  chain: Chain,
  request: GrpcTypes.SimulateTransactionRequest,
  options: SimulationOptions,
): TransactionRecord {
  const asked = request.transaction ?? refuse('INVALID_ARGUMENT', 'transaction is missing');
  const isWritten = asked.bcs?.value !== undefined;
  let data = isWritten
    ? parseTransaction(asked.bcs?.value ?? new Uint8Array())
    : normalise(resolveTransaction(chain, asked));
  const checks = request.checks !== Checks.DISABLED;
  const choosesGas = request.doGasSelection === true && checks;
  if (choosesGas && !(isWritten && isGaslessData(data))) {
    if (!isWritten && isGaslessCandidate(chain, asked, data)) {
      const gasless = asGasless(chain, data, options);
      const tried = run(chain, gasless, false);
      if (tried.outcome.failure?.reason.kind !== 'INSUFFICIENT_GAS') return tried;
    }
    data = chooseGas(chain, asked, data, options);
  }
  if (!checks) return runUnchecked(chain, data);
  const needsMock = !choosesGas && data.gasData.payment.length === 0 && !isGaslessData(data);
  return run(chain, data, needsMock && !fundsPay(chain, data));
}

function isGaslessData(data: TransactionData): boolean {
  return gasPaymentOf(data).kind === 'gasless';
}

function normalise(draft: Parameters<typeof transactionBytes>[0]): TransactionData {
  try {
    return parseTransaction(transactionBytes(draft));
  } catch (error) {
    return refuse('INVALID_ARGUMENT', `invalid transaction: ${String(error)}`);
  }
}

function run(chain: Chain, data: TransactionData, isMocked: boolean): TransactionRecord {
  const bytes = transactionBytes(data);
  const checked = checkTransaction(chain, data, bytes, { unpaid: isMocked });
  return record(chain, data, bytes, isMocked ? withMock(checked) : checked);
}

function runUnchecked(chain: Chain, data: TransactionData): TransactionRecord {
  return record(chain, data, transactionBytes(data), withMock(uncheckedTransaction(chain, data)));
}

function record(
  chain: Chain,
  data: TransactionData,
  bytes: Uint8Array,
  checked: CheckedTransaction,
): TransactionRecord {
  const digest = transactionDigest(bytes);
  const outcome = execute(chain, checked, digest);
  return { digest, bytes, data, signatures: [], outcome, place: undefined };
}

function mockCoin(owner: string): SuiObject {
  const address = { kind: 'address', address: owner } as const;
  const object = { id: MOCK_COIN_ID, version: 1n, owner: address, previousTransaction: ZERO_DIGEST };
  return coinObject({ ...object, storageRebateMist: 0n }, SUI_TYPE, MOCK_BALANCE);
}

function withMock(checked: CheckedTransaction): CheckedTransaction {
  const { data } = checked;
  const budget = String(LIMITS.gasBudgetMist);
  const paid = { ...data, gasData: { ...data.gasData, budget } };
  return { ...checked, data: paid, gasCoins: [mockCoin(data.gasData.owner)] };
}

function fundsPay(chain: Chain, data: TransactionData): boolean {
  const usesCoin = usesGasCoin(data);
  const hasWindow = data.expiration.$kind === 'ValidDuring' || data.expiration.$kind === 'Validity';
  return !usesCoin && hasWindow && fundsLeftForGas(chain, data) >= BigInt(data.gasData.budget);
}

function usesGasCoin(data: TransactionData): boolean {
  return JSON.stringify(programOf(data).commands).includes('"GasCoin":true');
}

function isGaslessCandidate(chain: Chain, asked: GrpcTypes.Transaction, data: TransactionData): boolean {
  const { price = 0n, objects = [] } = asked.gasPayment ?? {};
  return price === 0n && objects.length === 0 && isGaslessProgram(chain, programOf(data));
}

function asGasless(chain: Chain, data: TransactionData, options: SimulationOptions): TransactionData {
  const gasData = { ...data.gasData, payment: [], price: '0', budget: '0' };
  return withWindow(chain, { ...data, gasData }, options);
}

/** Adds a window of this epoch and the next, with a random nonce, unless the transaction has an expiration. */
function withWindow(
  chain: Chain,
  data: TransactionData,
  { namesProposers }: SimulationOptions,
): TransactionData {
  if (data.expiration.$kind !== 'None') return data;
  const { number } = chain.epoch;
  const window = {
    minEpoch: String(number),
    maxEpoch: String(number + 1n),
    minTimestamp: null,
    maxTimestamp: null,
    chain: chain.id,
    nonce: randomInt(2 ** 32),
  };
  if (!namesProposers) return { ...data, expiration: { $kind: 'ValidDuring', ValidDuring: window } };
  const allowedProposers = { epoch: String(number), proposers: PROPOSERS };
  return { ...data, expiration: { $kind: 'Validity', Validity: { ...window, allowedProposers } } };
}

function withGas(data: TransactionData, gas: Partial<TransactionData['gasData']>): TransactionData {
  return { ...data, gasData: { ...data.gasData, ...gas } };
}

function chooseGas(
  chain: Chain,
  asked: GrpcTypes.Transaction,
  data: TransactionData,
  options: SimulationOptions,
): TransactionData {
  const isEstimated = asked.bcs === undefined && asked.gasPayment?.budget === undefined;
  const budget = isEstimated ? estimateBudget(chain, data) : BigInt(data.gasData.budget);
  const budgeted = withGas(data, { budget: String(budget) });
  if (data.gasData.payment.length > 0) return nameProposers(chain, budgeted, options);
  if (!usesGasCoin(data) && fundsLeftForGas(chain, data) >= budget)
    return withWindow(chain, budgeted, options);
  return nameProposers(chain, payWithCoins(chain, budgeted, isEstimated), options);
}

/** Gas coins already prevent replay, so a window is only needed to name proposers. */
function nameProposers(chain: Chain, data: TransactionData, options: SimulationOptions): TransactionData {
  const hasReservation = gasPaymentOf(data).kind === 'reservation';
  return options.namesProposers || hasReservation ? withWindow(chain, data, options) : data;
}

function estimateBudget(chain: Chain, data: TransactionData): bigint {
  const { referenceGasPrice } = chain.parameters;
  const { gas, changes } = run(chain, data, true).outcome;
  const mock = changes.find(({ id }) => id === MOCK_COIN_ID);
  const mockCost = mock?.kind === 'mutated' ? mock.after.storageRebateMist : 0n;
  const net = gas.computationCost + gas.storageCost - mockCost - gas.storageRebate;
  const base = net > gas.computationCost ? net : gas.computationCost;
  const estimate = base + SAFE_OVERHEAD_UNITS * referenceGasPrice;
  return estimate > LIMITS.gasBudgetMist ? LIMITS.gasBudgetMist : estimate;
}

function payWithCoins(chain: Chain, data: TransactionData, isEstimated: boolean): TransactionData {
  const { owner } = data.gasData;
  const payment: ObjectReference[] = [];
  let sum = 0n;
  const funds = fundsLeftForGas(chain, data);
  if (usesGasCoin(data) && fundsOf(chain.index.funds, owner, SUI_TYPE) > 0n && funds > 0n) {
    payment.push(writeReservation(chain.id, owner, { amount: funds, epoch: chain.epoch.number }));
    sum += funds;
  }
  const coins = spendableCoins(chain, data).slice(0, LIMITS.gasObjects - payment.length);
  for (const coin of coins) {
    payment.push({ objectId: coin.id, version: String(coin.version), digest: coin.digest });
    sum += coin.coin?.balance ?? 0n;
  }
  const more = BigInt(Math.max(0, coins.length - 1)) * GAS_COIN_READ_UNITS;
  const steps = (more + LIMITS.gasStepUnits - 1n) / LIMITS.gasStepUnits;
  const loading = isEstimated ? steps * LIMITS.gasStepUnits * chain.parameters.referenceGasPrice : 0n;
  const budget = BigInt(data.gasData.budget) + loading;
  if (sum < budget) {
    refuse(
      'INVALID_ARGUMENT',
      `Unable to perform gas selection due to insufficient SUI balance (in address balance or coins) for account ${owner} to satisfy required budget ${budget}.`,
    );
  }
  return withGas(data, { payment, budget: String(budget) });
}

function spendableCoins(chain: Chain, data: TransactionData): readonly SuiObject[] {
  const used = new Set(
    programOf(data).inputs.flatMap((input) =>
      input.$kind === 'Object' && input.Object.$kind === 'ImmOrOwnedObject'
        ? [input.Object.ImmOrOwnedObject.objectId]
        : [],
    ),
  );
  return [...(chain.index.objects.get(data.gasData.owner)?.values() ?? [])]
    .filter(({ id, coin, owner }) => coin?.coinType === SUI_TYPE && owner.kind === 'address' && !used.has(id))
    .map(({ id }) => chain.objects.get(id))
    .filter((object) => object?.owner.kind === 'address' && object.owner.address === data.gasData.owner)
    .filter((object) => object !== undefined)
    .toSorted(compareOwned);
}
