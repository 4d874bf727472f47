import type { Address } from '@opentill/chain/address-codec';
import type { ScanStore } from './store/scan-store.ts';

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
  type Found = Awaited<ReturnType<typeof find>>;
  let gathering:
    | { readonly addresses: (readonly Address[])[]; readonly answer: Promise<Found>; begin(): void }
    | undefined;
  return (family, asked) => {
    if (gathering === undefined) {
      const addresses: (readonly Address[])[] = [];
      const { promise: answer, resolve, reject } = Promise.withResolvers<Found>();
      const begin = (): void => {
        clearTimeout(timer);
        if (gathering?.addresses === addresses) gathering = undefined;
        find(family, addresses.flat()).then(resolve, reject);
      };
      const timer = setTimeout(begin, withinMs);
      gathering = { addresses, answer, begin };
    }
    const { addresses, answer, begin } = gathering;
    addresses.push(asked);
    if (addresses.length >= together) begin();
    return answer;
  };
}
