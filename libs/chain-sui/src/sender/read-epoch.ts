import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { EpochWindow } from '@opentill/chain/expiring-sender';
import { readerError } from '@opentill/chain/reader-error';
import { readHeader } from '../read-header.ts';
import type { SuiSource, SuiSources } from '../sui-sources.ts';

export interface EpochState {
  readonly epoch: number;
  /** MIST per gas unit. A transaction with a lower price is not executed. */
  readonly gasPriceMist: bigint;
  /** The network moves some coins without gas. A simulation shows which ones. */
  readonly allowsGasless: boolean;
  readonly endsMs: number | undefined;
}

const EPOCH_MASK = {
  paths: [
    'epoch',
    'reference_gas_price',
    'start',
    'system_state.parameters.epoch_duration_ms',
    'protocol_config.feature_flags',
  ],
};
const GASLESS_FLAG = 'enable_gasless';
/** With less time left, a transaction could expire before it is executed, so it may also land in the next epoch. */
const LEFT_MIN_MS = 2 * 3_600_000;
const DAY_MS = 86_400_000;

export async function readEpoch(
  source: Pick<SuiSource, 'ask' | 'label'>,
  options: ReadOptions,
): Promise<EpochState> {
  const { response } = await source.ask(
    ({ ledger }, call) => ledger.getEpoch({ readMask: EPOCH_MASK }, call),
    options,
  );
  const { epoch, referenceGasPrice, start, systemState, protocolConfig } = response.epoch ?? {};
  if (epoch === undefined || referenceGasPrice === undefined || referenceGasPrice <= 0n)
    throw readerError('INCONSISTENT_ANSWER', 'the node returned an epoch without a gas price', {
      source: source.label,
    });
  const durationMs = systemState?.parameters?.epochDurationMs;
  return {
    epoch: Number(epoch),
    gasPriceMist: referenceGasPrice,
    allowsGasless: protocolConfig?.featureFlags[GASLESS_FLAG] === true,
    endsMs:
      start === undefined || durationMs === undefined
        ? undefined
        : Number(start.seconds) * 1_000 + Number(durationMs),
  };
}

/** The own scan determines the epoch; the node only supplies its expected end. */
export function currentWindow(
  sources: SuiSources,
  epoch: number,
  options: ReadOptions,
): Promise<{ readonly epochs: EpochWindow; readonly expiresMs: number }> {
  return sources.run(async (source, own) => {
    const [state, head] = await Promise.all([readEpoch(source, own), readHeader(source, own)]);
    if (state.epoch !== epoch)
      throw readerError('BLOCK_NOT_FOUND', 'the node is in another epoch than the own scan', {
        source: source.label,
        epoch: state.epoch,
        scanned: epoch,
      });
    return windowFrom(epoch, state.endsMs, head.timeMs);
  }, options);
}

/** This epoch, and the next if this one ends soon or its end is unknown. Pure. */
export function windowFrom(
  epoch: number,
  endsMs: number | undefined,
  nowMs: number,
): { readonly epochs: EpochWindow; readonly expiresMs: number } {
  if (endsMs !== undefined && endsMs - nowMs > LEFT_MIN_MS)
    return { epochs: { first: epoch, last: epoch }, expiresMs: endsMs };
  const expectedMs = endsMs === undefined || endsMs < nowMs ? nowMs : endsMs;
  return { epochs: { first: epoch, last: epoch + 1 }, expiresMs: expectedMs + DAY_MS };
}

/** The higher price of two sources. */
export async function readGasPrice(sources: SuiSources, options: ReadOptions): Promise<bigint> {
  const asked = sources.quorumSources().slice(0, 2);
  const results = await Promise.allSettled(asked.map((source) => readEpoch(source, options)));
  const prices = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value.gasPriceMist] : []));
  if (prices.length === 0)
    return (await sources.run((source, own) => readEpoch(source, own), options)).gasPriceMist;
  return prices.reduce((a, b) => (a > b ? a : b));
}
