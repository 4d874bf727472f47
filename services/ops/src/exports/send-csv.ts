import type { ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { CsvExport } from '../handlers.ts';
import { opsError } from '../ops-error.ts';
import { csvLine } from './csv-line.ts';

/** Each holds a connection and a snapshot of the database. */
const CONCURRENT_EXPORTS = 2;
/** A client that accepts no data for longer loses its export, which releases the snapshot. */
const DRAIN_TIMEOUT_MS = 20_000;

/**
 * An error after the start closes the connection, so that no client takes a part for the whole file.
 * @throws GatewayError UNAVAILABLE while CONCURRENT_EXPORTS exports run; no response was sent then
 */
export type SendCsv = (
  response: ServerResponse,
  wanted: CsvExport,
  begin: () => Promise<void>,
  onBroken: (error: unknown) => void,
) => Promise<void>;

export function createSendCsv(): SendCsv & { readonly underWay: () => number } {
  let underWay = 0;
  const sendCsv: SendCsv = async (response, wanted, begin, onBroken) => {
    if (underWay >= CONCURRENT_EXPORTS) {
      throw opsError('UNAVAILABLE', `${underWay} exports are running. Try again when one has ended.`);
    }
    underWay += 1;
    try {
      await begin();
      await stream(response, wanted, onBroken);
    } finally {
      underWay -= 1;
    }
  };
  return Object.assign(sendCsv, { underWay: () => underWay });
}

async function stream(
  response: ServerResponse,
  wanted: CsvExport,
  onBroken: (error: unknown) => void,
): Promise<void> {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  try {
    response.setHeader('Content-Type', 'text/csv; charset=utf-8; header=present');
    response.setHeader('Content-Disposition', `attachment; filename="${wanted.fileName}"`);
    response.write(csvLine(wanted.columns));
    for await (const batch of wanted.rows(closed.signal)) {
      if (closed.signal.aborted) return;
      if (!response.write(batch.map(csvLine).join(''))) {
        await once(response, 'drain', {
          signal: AbortSignal.any([closed.signal, AbortSignal.timeout(DRAIN_TIMEOUT_MS)]),
        });
      }
    }
    response.end();
  } catch (error) {
    response.destroy();
    if (!closed.signal.aborted) onBroken(error);
  }
}
