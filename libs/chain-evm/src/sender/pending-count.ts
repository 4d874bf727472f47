import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { SourcesCount } from '@opentill/chain/wallet-sender';
import { decodeInteger } from '../decode.ts';
import type { EvmSources } from '../sources.ts';
import { askSomeSources } from './ask-some-sources.ts';
import type { CountClaims } from './count-claims.ts';
import { countRequest } from './count-transactions.ts';

/** A node without a pool answers `pending` like `latest`. Sources with a refuted claim do not count as single ones. */
export async function readPendingCount(
  sources: EvmSources,
  claims: CountClaims,
  wallet: Address,
  options: ReadOptions,
): Promise<SourcesCount> {
  const received = await askSomeSources(
    sources,
    sources.quorumSources().length,
    async (source, own) => {
      const answers = await source.batch(
        [countRequest(wallet, 'pending'), countRequest(wallet, 'latest')],
        own,
      );
      return Math.max(...answers.map((raw) => decodeInteger(raw, 'a count of transactions')));
    },
    options,
  );
  const [first = 0, second = 0] = received.map(({ answer }) => answer).toSorted((a, b) => b - a);
  const trusted = received.filter(({ source }) => claims.isTrusted(source)).map(({ answer }) => answer);
  const highest = received.length < 2 ? first : Math.max(second, ...trusted);
  return { highest, agreed: sources.all().length === 1 ? first : second, answers: received.length };
}
