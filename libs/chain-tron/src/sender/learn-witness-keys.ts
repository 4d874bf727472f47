import type { ReadOptions } from '@opentill/chain/chain-reader';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { signerHexOf } from '../block-seal.ts';
import { readHeader, type TronSource, type TronSources } from '../tron-sources.ts';
import { readWindow } from '../walk-blocks.ts';
import { agreedSigners, type WitnessKeys } from '../witness-keys.ts';

/** Notes the keys that sign the newest solid blocks by two sources, so that they count when a proof needs them. */
export async function learnWitnessKeys(
  sources: TronSources,
  keys: WitnessKeys,
  options: ReadOptions,
): Promise<void> {
  const ask = async (source: TronSource, own: ReadOptions): Promise<ReadonlyMap<string, string>> => {
    const solid = await readHeader(source, own, undefined, 'walletsolidity');
    const seals = await readWindow(source, solid, own);
    return new Map(
      seals.flatMap((seal) => {
        const signer = signerHexOf(seal);
        return signer === undefined ? [] : [[seal.witnessHex, signer] as const];
      }),
    );
  };
  const question = { ask, height: undefined, onAlone: () => undefined, neverAlone: true };
  const said = await askTwoSources(sources, question, options);
  await keys.note(agreedSigners(said.flatMap((one) => (one === undefined ? [] : [one.answer]))));
}
