import type { ReadOptions } from '@opentill/chain/chain-reader';
import { askOneOrTwo } from '@opentill/chain-sources/ask-one-or-two';
import { signerHexOf } from '../block-seal.ts';
import { readHeader, type TronSource, type TronSources } from '../tron-sources.ts';
import { readWindow } from '../walk-blocks.ts';
import type { WitnessKeys } from '../witness-keys.ts';

/** Learns from the newest solid blocks, so that the keys count when a proof needs them. */
export async function learnWitnessKeys(
  sources: TronSources,
  keys: WitnessKeys,
  options: ReadOptions,
): Promise<void> {
  const ask = async (source: TronSource): Promise<ReadonlyMap<string, string>> => {
    const solid = await readHeader(source, options, undefined, 'walletsolidity');
    const seals = await readWindow(source, solid, options);
    return new Map(
      seals.flatMap((seal) => {
        const signer = signerHexOf(seal);
        return signer === undefined ? [] : [[seal.witnessHex, signer] as const];
      }),
    );
  };
  const signersBySource = await askOneOrTwo(sources, ask, options, () => true);
  await keys.note(signersBySource, Math.min(2, sources.all().length));
}
