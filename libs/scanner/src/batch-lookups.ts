import type { Address } from '@opentill/chain/address-codec';
import type { ScanStore } from './store/scan-store.ts';

/**
 * Batches concurrent recipient lookups into one SQL statement. A lookup waits at most `withinMs` for others; the
 * statement starts at once when `together` have joined. A lookup never joins a running statement, so the database is
 * always queried after the blocks were read. Each caller receives the recipients of the whole batch.
 */
export function batchLookups(
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
