import { textOf } from './protobuf/json-text.ts';
import { bad, type TronControl } from './control.ts';
import type { DevTokenSymbol } from './genesis.ts';
import type { TronFault } from './http/faults.ts';
import type { JsonObject } from './protobuf/json.ts';

type Run = (control: TronControl, body: JsonObject) => unknown;

/** Values have the names of TronControl's parameters; amounts are decimal strings. */
const CONTROLS: Readonly<Record<string, Run>> = {
  summary: (control) => control.summary(),
  mine: (control, body) => control.mine(optionalNumber(body, 'count') ?? 1),
  reorganise: (control, body) => {
    const blocks = optionalNumber(body, 'blocks');
    const drop = body['drop'] === true || body['drop'] === 'true';
    const depth = optionalNumber(body, 'depth') ?? 1;
    return control.reorganise(depth, { drop, ...(blocks === undefined ? {} : { blocks }) });
  },
  setBlockTimeMs: (control, body) => control.setBlockTimeMs(requiredNumber(body, 'blockTimeMs')),
  stepTimeMs: (control, body) => control.stepTimeMs(requiredNumber(body, 'byMs')),
  pause: (control) => control.pause(),
  resume: (control) => control.resume(),
  setEnergyFactor: (control, body) =>
    control.setEnergyFactor(textOf(body['contract']), requiredNumber(body, 'factor')),
  setChainParameter: (control, body) =>
    control.setChainParameter(textOf(body['name']), requiredNumber(body, 'value')),
  stake: (control, body) => control.stake(textOf(body['address']), requiredAmount(body, 'sun')),
  fault: (control, body) => control.fault(readFault(body)),
  clearFaults: (control) => control.clearFaults(),
  fund: (control, body) => {
    const trxSun = optionalAmount(body, 'trxSun');
    const amountBaseUnits = optionalAmount(body, 'amountBaseUnits');
    const symbol = textOf(body['symbol'] ?? 'USDT');
    if (symbol !== 'USDT' && symbol !== 'USDC') throw bad(`there is no token ${symbol}`);
    return control.fund(textOf(body['address']), {
      ...(trxSun === undefined ? {} : { trxSun }),
      ...(amountBaseUnits === undefined ? {} : { amountBaseUnits, symbol: symbol satisfies DevTokenSymbol }),
    });
  },
};

export async function runControl(control: TronControl, name: string, body: JsonObject): Promise<unknown> {
  const run = Object.hasOwn(CONTROLS, name) ? CONTROLS[name] : undefined;
  if (run === undefined) {
    throw bad(`there is no control ${name}; there are ${Object.keys(CONTROLS).join(', ')}`);
  }
  return run(control, body);
}

const FAULT_NUMBERS: Readonly<Record<TronFault['kind'], string | undefined>> = {
  status: 'status',
  'rate-limit': 'perSecond',
  latency: 'delayMs',
  lag: 'blocks',
  empty: undefined,
  cut: undefined,
  'lose-broadcast-answer': undefined,
  'swallow-broadcast': undefined,
};

function readFault(body: JsonObject): TronFault {
  const kind = textOf(body['kind']);
  if (!Object.hasOwn(FAULT_NUMBERS, kind)) {
    throw bad(`there is no fault ${kind}; there are ${Object.keys(FAULT_NUMBERS).join(', ')}`);
  }
  const number = FAULT_NUMBERS[kind as TronFault['kind']];
  const times = optionalNumber(body, 'times');
  return {
    kind,
    ...(body['path'] === undefined ? {} : { path: textOf(body['path']) }),
    ...(times === undefined ? {} : { times }),
    ...(number === undefined ? {} : { [number]: requiredNumber(body, number) }),
  } as TronFault;
}

function optionalNumber(body: JsonObject, name: string): number | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0)
    throw bad(`${name} must be a number, not ${textOf(value)}`);
  return number;
}

function requiredNumber(body: JsonObject, name: string): number {
  return optionalNumber(body, name) ?? fail(`${name} is missing`);
}

function optionalAmount(body: JsonObject, name: string): bigint | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(textOf(value))) throw bad(`${name} must be a decimal string, not ${textOf(value)}`);
  return BigInt(textOf(value));
}

function requiredAmount(body: JsonObject, name: string): bigint {
  return optionalAmount(body, name) ?? fail(`${name} is missing`);
}

function fail(message: string): never {
  throw bad(message);
}
