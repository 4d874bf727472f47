import { bad, type SuiControl } from './control.ts';
import { canonicalType } from './coin-type.ts';
import { objectIdOf } from './digest.ts';
import type { GiftForm } from './fund.ts';
import type { DevTokenSymbol } from './genesis.ts';
import type { SuiFault } from './grpc/faults.ts';

type Body = Readonly<Record<string, unknown>>;
type Run = (control: SuiControl, body: Body) => unknown;

/** Values have the names of SuiControl's parameters; amounts are decimal strings. */
const CONTROLS: Readonly<Record<string, Run>> = {
  summary: (control) => control.summary(),
  checkpoint: (control, body) => control.checkpoint(optionalNumber(body, 'count') ?? 1),
  advanceEpoch: (control) => control.advanceEpoch(),
  setCheckpointMs: (control, body) => control.setCheckpointMs(requiredNumber(body, 'checkpointMs')),
  stepTimeMs: (control, body) => control.stepTimeMs(requiredNumber(body, 'byMs')),
  pause: (control) => control.pause(),
  resume: (control) => control.resume(),
  fund: (control, body) => {
    const mist = optionalAmount(body, 'mist');
    const amountBaseUnits = optionalAmount(body, 'amountBaseUnits');
    return control.fund(text(body, 'address'), {
      ...(mist === undefined ? {} : { mist }),
      ...(amountBaseUnits === undefined ? {} : { amountBaseUnits, symbol: symbolOf(body) }),
      form: formOf(body),
    });
  },
  faucet: async (control, body) => answerFaucet(control, body),
  denyAddress: (control, body) =>
    control.denyAddress(symbolOf(body), text(body, 'address'), body['isDenied'] !== false),
  pauseCoin: (control, body) => control.pauseCoin(symbolOf(body), body['isPaused'] !== false),
  setGasless: (control, body) => control.setGasless(symbolOf(body), optionalAmount(body, 'minimumBaseUnits')),
  setReferenceGasPrice: (control, body) =>
    control.setReferenceGasPrice(optionalAmount(body, 'mist') ?? bad('mist is missing')),
  fault: (control, body) => control.fault(readFault(body)),
  clearFaults: (control) => control.clearFaults(),
  dropConnections: (control) => {
    // Runs after the response, which uses one of the connections.
    setImmediate(() => control.dropConnections());
  },
  prune: (control, body) => control.prune(requiredNumber(body, 'lowestCheckpoint')),
  setRebatedGas: (control, body) =>
    control.setRebatedGas(body['address'] === undefined ? undefined : text(body, 'address')),
  openNode: async (control) => ({ url: (await control.openNode()).url }),
};

export async function runControl(control: SuiControl, name: string, body: Body): Promise<unknown> {
  const run = Object.hasOwn(CONTROLS, name) ? CONTROLS[name] : undefined;
  if (run === undefined) {
    return bad(`there is no control ${name}; there are ${Object.keys(CONTROLS).join(', ')}`);
  }
  return run(control, body);
}

const FAUCET_MIST = 10_000_000_000n;

async function answerFaucet(control: SuiControl, body: Body): Promise<object> {
  const request = (body['FixedAmountRequest'] ?? {}) as Body;
  const { digests } = await control.fund(text(request, 'recipient'), { mist: FAUCET_MIST });
  const coins = digests.map((digest) => ({
    amount: Number(FAUCET_MIST),
    id: objectIdOf(digest, 0),
    transferTxDigest: digest,
  }));
  return { status: 'Success', coins_sent: coins };
}

type Read = (body: Body) => object;

const FAULTS: Readonly<Record<SuiFault['kind'], Read>> = {
  status: (body) => ({
    code: text(body, 'code'),
    ...(body['message'] === undefined ? {} : { message: text(body, 'message') }),
  }),
  'rate-limit': (body) => ({ perSecond: requiredNumber(body, 'perSecond') }),
  latency: (body) => ({ delayMs: requiredNumber(body, 'delayMs') }),
  lag: (body) => ({ checkpoints: requiredNumber(body, 'checkpoints') }),
  fork: (body) => ({ fromCheckpoint: requiredNumber(body, 'fromCheckpoint') }),
  'invent-payment': (body) => ({
    checkpoint: requiredNumber(body, 'checkpoint'),
    address: text(body, 'address'),
    coinType: canonicalType(text(body, 'coinType')),
    amountBaseUnits: optionalAmount(body, 'amountBaseUnits') ?? bad('amountBaseUnits is missing'),
  }),
  'hide-payments': (body) => ({ address: text(body, 'address') }),
  'forge-without': (body) => ({
    fromCheckpoint: requiredNumber(body, 'fromCheckpoint'),
    address: text(body, 'address'),
  }),
  'no-checkpoint-bytes': () => ({}),
  cut: () => ({}),
  'silent-streams': () => ({}),
  'skip-checkpoint': () => ({}),
  'no-balance-changes': () => ({}),
  'no-transaction-index': () => ({}),
  'no-history': () => ({}),
  'lose-execute-answer': () => ({}),
  'swallow-execute': () => ({}),
};

function readFault(body: Body): SuiFault {
  const kind = text(body, 'kind');
  if (!Object.hasOwn(FAULTS, kind)) {
    return bad(`there is no fault ${kind}; there are ${Object.keys(FAULTS).join(', ')}`);
  }
  const times = optionalNumber(body, 'times');
  return {
    kind,
    ...(body['method'] === undefined ? {} : { method: text(body, 'method') }),
    ...(times === undefined ? {} : { times }),
    ...FAULTS[kind as SuiFault['kind']](body),
  } as SuiFault;
}

function text(body: Body, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : bad(`${name} must be a text`);
}

function symbolOf(body: Body): DevTokenSymbol {
  const symbol = body['symbol'] ?? 'USDC';
  return symbol === 'USDC' || symbol === 'USDT' ? symbol : bad('symbol must be USDC or USDT');
}

function formOf(body: Body): GiftForm {
  const form = body['form'] ?? 'coin';
  return form === 'coin' || form === 'address' || form === 'party'
    ? form
    : bad('form must be coin, address or party');
}

function optionalNumber(body: Body, name: string): number | undefined {
  if (body[name] === undefined) return undefined;
  const number = Number(body[name]);
  return Number.isSafeInteger(number) && number >= 0 ? number : bad(`${name} must be a whole number`);
}

function requiredNumber(body: Body, name: string): number {
  return optionalNumber(body, name) ?? bad(`${name} is missing`);
}

function optionalAmount(body: Body, name: string): bigint | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  return typeof value === 'string' && /^\d+$/.test(value)
    ? BigInt(value)
    : bad(`${name} must be a decimal string`);
}
