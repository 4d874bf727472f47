import type { Address } from '@opentill/chain/address-codec';
import type { ScanStore } from './store/scan-store.ts';

/** A look-up that is gathered: whoever joined it gets its answer. */
interface Gathering {
  readonly addresses: (readonly Address[])[];
  readonly answer: PromiseWithResolvers<ReadonlySet<Address>>;
  readonly timer: NodeJS.Timeout;
  joined: number;
}

/**
 * Joins look-ups of recipients, all of one family, that come about at the same time into one statement. A part of a long
 * way waits at most `withinMs` for others, and for none once `together` have joined. One statement for several parts
 * costs the database less than one for each: each address is sent and looked for once, and those that lie beside one
 * another in the index are found together.
 *
 * Nobody joins a statement that is under way: what is answered was asked of the database after the blocks were read.
 * Whoever joined gets those of all that are ours.
 */
export function lookUpTogether(
  find: ScanStore['findRecipients'],
  { withinMs, together }: { readonly withinMs: number; readonly together: number },
): ScanStore['findRecipients'] {
  let gathering: Gathering | undefined;
  return (family, addresses) => {
    const begin = (gathered: Gathering): void => {
      clearTimeout(gathered.timer);
      if (gathering === gathered) gathering = undefined;
      find(family, gathered.addresses.flat()).then(gathered.answer.resolve, gathered.answer.reject);
    };
    if (gathering === undefined) {
      const own: Gathering = {
        addresses: [],
        answer: Promise.withResolvers(),
        timer: setTimeout(() => begin(own), withinMs),
        joined: 0,
      };
      gathering = own;
    }
    const joined = gathering;
    joined.addresses.push(addresses);
    joined.joined += 1;
    if (joined.joined >= together) begin(joined);
    return joined.answer.promise;
  };
}
