import { SUI_TYPE } from '../coin-type.ts';
import type { Chain } from './chain.ts';
import { checkExpiration } from './check-expiration.ts';
import { checkWithdrawals } from './check-withdrawals.ts';
import { gasPaymentOf, type GasPayment } from './gas-payment.ts';
import { checkGaslessProgram, checkGaslessWithdrawals } from './gasless.ts';
import { addressOfOwner, type SuiObject } from './object.ts';
import { LIMITS } from './parameters.ts';
import { invalidInput } from './refusal.ts';
import {
  programOf,
  type Command,
  type ObjectReference,
  type Program,
  type ProgramInput,
  type TransactionData,
} from './transaction.ts';

export interface CheckedTransaction {
  readonly data: TransactionData;
  readonly program: Program;
  readonly gas: GasPayment;
  readonly inputObjects: readonly (SuiObject | undefined)[];
  readonly gasCoins: readonly SuiObject[];
  /** Amounts reserved from address balances by `fundsKey`, including gas. */
  readonly withdrawals: ReadonlyMap<string, bigint>;
  /** `objectLabel` of each owned input version. No other transaction may use it. */
  readonly ownedInputs: readonly string[];
}

/** Checks of validators before execution (validity_check, check_transaction_input). `unpaid` skips gas checks. */
export function checkTransaction(
  chain: Chain,
  data: TransactionData,
  bytes: Uint8Array,
  { unpaid = false }: { readonly unpaid?: boolean } = {},
): CheckedTransaction {
  const program = programOf(data);
  const gas: GasPayment = unpaid ? { kind: 'coins', coins: [] } : gasPaymentOf(data);
  checkExpiration(chain, data, { needsWindow: gas.kind === 'funds' || gas.kind === 'gasless' });
  checkShape(program, bytes);
  if (gas.kind === 'gasless') checkGaslessProgram(chain, program, bytes);
  else if (!unpaid) checkGasPrice(chain, data);
  const references: ObjectReference[] = [];
  const load = (reference: ObjectReference, owner: string): SuiObject => {
    if (references.some(({ objectId }) => objectId === reference.objectId)) {
      return invalidInput("The transaction inputs contain duplicated ObjectRef's");
    }
    references.push(reference);
    return ownedObject(chain, reference, owner);
  };
  const inputObjects = program.inputs.map((input) => inputObject(chain, input, data.sender, load));
  for (const object of inputObjects) checkDenied(chain, object, data.sender);
  const coinsOfGas = gas.kind === 'coins' || gas.kind === 'reservation' ? gas.coins : [];
  const gasCoins = coinsOfGas.map((reference) => gasCoin(load(reference, data.gasData.owner)));
  if (!unpaid) checkGasBalance(data, gas, gasCoins);
  const withdrawals = checkWithdrawals(chain, data, gas);
  if (gas.kind === 'gasless') checkGaslessWithdrawals(chain, withdrawals);
  return {
    data,
    program,
    gas,
    inputObjects,
    gasCoins,
    withdrawals,
    ownedInputs: references.map(objectLabel),
  };
}

/** Loads a transaction without checks, for simulations without checks. The sender need not exist. */
export function uncheckedTransaction(chain: Chain, data: TransactionData): CheckedTransaction {
  const program = programOf(data);
  const inputObjects = program.inputs.map((input) => {
    if (input.$kind !== 'Object') return undefined;
    const argument = input.Object;
    const reference = argument.ImmOrOwnedObject ?? argument.SharedObject ?? argument.Receiving;
    return reference && (chain.objects.get(reference.objectId) ?? notFound(reference.objectId, undefined));
  });
  const gas = { kind: 'coins', coins: [] } as const;
  return { data, program, gas, inputObjects, gasCoins: [], withdrawals: new Map(), ownedInputs: [] };
}

function objectLabel({ objectId, version, digest }: ObjectReference): string {
  return `(${objectId}, SequenceNumber(${version}), o#${digest})`;
}

function limit(what: string, value: number): never {
  return invalidInput(`Size limit exceeded: ${what} is ${value}`);
}

function checkShape(program: Program, bytes: Uint8Array): void {
  if (bytes.length > LIMITS.transactionBytes) {
    limit('serialized transaction size exceeded maximum', LIMITS.transactionBytes);
  }
  if (program.commands.length >= LIMITS.commands) {
    limit('maximum commands in a programmable transaction', LIMITS.commands);
  }
  for (const command of program.commands) {
    const count = argumentCount(command);
    if (count >= LIMITS.argumentsOfCommand) {
      limit('maximum arguments in a programmable transaction command', LIMITS.argumentsOfCommand);
    }
    if (count === 0 && command.$kind !== 'MoveCall') {
      invalidInput('TransferObjects, MergeCoin, and Publish cannot have empty arguments.');
    }
  }
  const { inputs } = program;
  if (inputs.filter(({ $kind }) => $kind === 'Object').length > LIMITS.inputObjects) {
    limit('maximum input + receiving objects in a transaction', LIMITS.inputObjects);
  }
  for (const input of inputs) {
    if (
      input.$kind === 'Pure' &&
      Buffer.from(input.Pure.bytes, 'base64').length >= LIMITS.pureArgumentBytes
    ) {
      limit('maximum pure argument size', LIMITS.pureArgumentBytes);
    }
  }
}

function argumentCount(command: Command): number {
  switch (command.$kind) {
    case 'SplitCoins':
      return command.SplitCoins.amounts.length;
    case 'MergeCoins':
      return command.MergeCoins.sources.length;
    case 'TransferObjects':
      return command.TransferObjects.objects.length;
    case 'MoveCall':
      return command.MoveCall.arguments.length;
    case 'MakeMoveVec':
      return command.MakeMoveVec.elements.length;
    default:
      return 1;
  }
}

function checkGasPrice(chain: Chain, data: TransactionData): void {
  const price = BigInt(data.gasData.price);
  const budget = BigInt(data.gasData.budget);
  const least = LIMITS.gasStepUnits * price;
  if (data.gasData.payment.length > LIMITS.gasObjects) {
    limit('maximum number of gas payment objects', LIMITS.gasObjects);
  }
  if (budget > LIMITS.gasBudgetMist) {
    invalidInput(`Gas budget: ${budget} is higher than max: ${LIMITS.gasBudgetMist}`);
  }
  if (budget < least) invalidInput(`Gas budget: ${budget} is lower than min: ${least}`);
  const reference = chain.parameters.referenceGasPrice;
  if (price < reference) invalidInput(`Gas price ${price} under reference gas price (RGP) ${reference}`);
}

function inputObject(
  chain: Chain,
  input: ProgramInput,
  sender: string,
  load: (reference: ObjectReference, owner: string) => SuiObject,
): SuiObject | undefined {
  if (input.$kind !== 'Object') return undefined;
  const argument = input.Object;
  if (argument.$kind === 'ImmOrOwnedObject') return load(argument.ImmOrOwnedObject, sender);
  if (argument.$kind === 'Receiving') return invalidInput('Feature is not supported: receiving objects');
  const { objectId, initialSharedVersion } = argument.SharedObject;
  const object = chain.objects.get(objectId) ?? notFound(objectId, undefined);
  if (object.owner.kind !== 'consensus') return invalidInput('Object used as shared is not shared');
  if (object.owner.startVersion !== BigInt(initialSharedVersion)) {
    return invalidInput('Wrong initial version given for shared object');
  }
  checkOwner(object, sender);
  return object;
}

function notFound(id: string, version: string | undefined): never {
  const at = version === undefined ? 'None' : `Some(SequenceNumber(${version}))`;
  return invalidInput(`Could not find the referenced object ${id} at version ${at}`);
}

function checkOwner(object: SuiObject, address: string): void {
  const owner = addressOfOwner(object.owner);
  if (owner === address) return;
  invalidInput(
    `Transaction was not signed by the correct sender: Object ${object.id} is owned by account address ${owner}, but given owner/signer address is ${address}`,
  );
}

function ownedObject(chain: Chain, reference: ObjectReference, owner: string): SuiObject {
  const object = chain.objects.get(reference.objectId) ?? notFound(reference.objectId, reference.version);
  const asked = BigInt(reference.version);
  if (object.version !== asked) {
    invalidInput(
      `Transaction needs to be rebuilt because object ${object.id} version 0x${asked.toString(16)} is unavailable for consumption, current version: 0x${object.version.toString(16)}`,
    );
  }
  if (object.digest !== reference.digest) {
    invalidInput(`Invalid Object digest for object ${object.id}. Expected digest : ${object.digest}`);
  }
  if (object.owner.kind !== 'address') invalidInput('Object used as owned is not owned');
  checkOwner(object, owner);
  return object;
}

/** The issuer of a regulated coin can deny spenders. */
function checkDenied(chain: Chain, object: SuiObject | undefined, sender: string): void {
  const coin = object?.coin && chain.coins.get(object.coin.coinType);
  if (coin?.paused === true) invalidInput(`Coin type is globally paused for use: ${coin.coinType}`);
  if (coin?.deniedAddresses.has(sender) === true) {
    invalidInput(`Address ${sender} is denied for coin ${coin.coinType}`);
  }
}

function gasCoin(object: SuiObject): SuiObject {
  if (object.coin?.coinType !== SUI_TYPE) invalidInput(`Object ${object.id} is not a gas object`);
  return object;
}

function checkGasBalance(data: TransactionData, gas: GasPayment, coins: readonly SuiObject[]): void {
  if (gas.kind !== 'coins' && gas.kind !== 'reservation') return;
  const reserved = gas.kind === 'reservation' ? gas.reservedMist : 0n;
  const balance = coins.reduce((sum, { coin }) => sum + (coin?.balance ?? 0n), reserved);
  if (balance < BigInt(data.gasData.budget)) {
    invalidInput(
      `Balance of gas object ${balance} is lower than the needed amount: ${BigInt(data.gasData.budget)}`,
    );
  }
}
