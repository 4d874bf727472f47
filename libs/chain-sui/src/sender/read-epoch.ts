import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { EpochWindow } from '@opentill/chain/expiring-sender';
import { readerError } from '@opentill/chain/reader-error';
import { readHeader } from '../read-header.ts';
import type { SuiSource, SuiSources } from '../sui-sources.ts';

/** What holds for an epoch, by the word of one node. */
export interface EpochState {
  readonly epoch: number;
  /** MIST a unit: with less nothing is taken. */
  readonly gasPriceMist: bigint;
  /** Whether the network lets some coins move without gas; which, a trial tells. */
  readonly allowsGasless: boolean;
  /** When it is expected to end. Undefined where the node does not say. */
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
/** As full nodes name it in the protocol's configuration. */
const GASLESS_FLAG = 'enable_gasless';
/** With less of an epoch left a transaction may land in the next one as well: it would be dead before it is known. */
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
    throw readerError('INCONSISTENT_ANSWER', 'an epoch without its price', { source: source.label });
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

/** See EpochWindows.currentWindow. Which epoch it is the own scan says; a node, when that is expected to end, and no more. */
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

/** This epoch, and the next one as well where this one ends soon, or nobody knows when. Pure. */
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

/** See ExpiringSender.workPrice: by the source that names the most. */
export async function readGasPrice(sources: SuiSources, options: ReadOptions): Promise<bigint> {
  const asked = sources.witnesses().slice(0, 2);
  const said = await Promise.allSettled(asked.map((source) => readEpoch(source, options)));
  const prices = said.flatMap((one) => (one.status === 'fulfilled' ? [one.value.gasPriceMist] : []));
  if (prices.length === 0)
    return (await sources.run((source, own) => readEpoch(source, own), options)).gasPriceMist;
  return prices.reduce((a, b) => (a > b ? a : b));
}
