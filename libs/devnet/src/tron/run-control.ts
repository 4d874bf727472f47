import { bad, type TronControl } from './control.ts';
import type { DevTokenSymbol } from './genesis.ts';
import type { JsonObject } from './protobuf/json.ts';

type Run = (control: TronControl, body: JsonObject) => unknown;

/** `POST /devnet/<name>`: the values of TronControl's functions by name, amounts as decimal strings. */
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
    control.setEnergyFactor(String(body['contract']), requiredNumber(body, 'factor')),
  setChainParameter: (control, body) =>
    control.setChainParameter(String(body['name']), requiredNumber(body, 'value')),
  fund: (control, body) => {
    const trxSun = optionalAmount(body, 'trxSun');
    const amountBaseUnits = optionalAmount(body, 'amountBaseUnits');
    const symbol = String(body['symbol'] ?? 'USDT');
    if (symbol !== 'USDT' && symbol !== 'USDC') throw bad(`there is no token ${symbol}`);
    return control.fund(String(body['address']), {
      ...(trxSun === undefined ? {} : { trxSun }),
      ...(amountBaseUnits === undefined ? {} : { amountBaseUnits, symbol: symbol satisfies DevTokenSymbol }),
    });
  },
};

/** Runs a control by its name. Throws GatewayError<TronControlErrorCode>. */
export async function runControl(control: TronControl, name: string, body: JsonObject): Promise<unknown> {
  const run = Object.hasOwn(CONTROLS, name) ? CONTROLS[name] : undefined;
  if (run === undefined) {
    throw bad(`there is no control ${name}; there are ${Object.keys(CONTROLS).join(', ')}`);
  }
  return run(control, body);
}

function optionalNumber(body: JsonObject, name: string): number | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0)
    throw bad(`${name} must be a number, not ${String(value)}`);
  return number;
}

function requiredNumber(body: JsonObject, name: string): number {
  return optionalNumber(body, name) ?? fail(`${name} is missing`);
}

function optionalAmount(body: JsonObject, name: string): bigint | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(String(value))) throw bad(`${name} must be a decimal string, not ${String(value)}`);
  return BigInt(String(value));
}

function fail(message: string): never {
  throw bad(message);
}
