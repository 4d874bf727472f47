import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { TokenContract } from '@opentill/chain/transfer';
import { askOneOrTwo } from '@opentill/chain-sources/ask-one-or-two';
import { coinTypeOf } from '../coin-type.ts';
import type { SuiSources } from '../sui-sources.ts';
import { mostAtOnce } from './choose-sources.ts';
import { readHeld } from './read-holdings.ts';

/** The lower of two answers; the rest can be paid later. */
export async function readMostAtOnce(
  sources: SuiSources,
  owner: Address,
  contract: TokenContract | null,
  options: ReadOptions,
): Promise<bigint> {
  const amounts = await askOneOrTwo(
    sources,
    async (source) => mostAtOnce(await readHeld(source, owner, coinTypeOf(contract), options)),
    options,
  );
  return amounts.reduce((least, one) => (one < least ? one : least));
}
