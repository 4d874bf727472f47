import { createServer } from 'node:http';
import { bcs } from '@mysten/sui/bcs';
import { GrpcTypes } from '@mysten/sui/grpc';
import { listenLocally } from '@opentill/testkit/local-http-server';

export interface ByzantineSuiProxy {
  readonly url: string;
  close(): Promise<unknown>;
}

export interface ReportedPrices {
  readonly priceMist: bigint;
  /** For every simulated transaction, at any gas price. */
  readonly costMist: bigint;
}

/** Reports these prices, and simulates each transaction at a price that the node accepts. */
export async function startByzantineSuiProxy(
  target: string,
  { priceMist, costMist }: ReportedPrices,
): Promise<ByzantineSuiProxy> {
  const server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => /^(content-type|accept|x-grpc-web)$/.test(name)),
      ) as Record<string, string>;
      const ask = async (body: Buffer) => {
        const answer = await fetch(`${target}${request.url}`, { method: 'POST', headers, body });
        const kept = [...answer.headers].filter(([name]) => name !== 'content-length');
        response.writeHead(answer.status, Object.fromEntries(kept));
        return Buffer.from(await answer.arrayBuffer());
      };
      const asked = Buffer.concat(parts);
      const path = request.url ?? '';
      if (path.endsWith('/GetEpoch'))
        response.end(
          changeMessage(await ask(asked), GrpcTypes.GetEpochResponse, ({ epoch }) => {
            if (epoch !== undefined) epoch.referenceGasPrice = priceMist;
          }),
        );
      else if (path.endsWith('/SimulateTransaction')) {
        const honest = changeMessage(asked, GrpcTypes.SimulateTransactionRequest, useValidPrice);
        response.end(
          changeMessage(await ask(honest), GrpcTypes.SimulateTransactionResponse, ({ transaction }) => {
            const gasUsed = transaction?.effects?.gasUsed;
            if (gasUsed !== undefined) Object.assign(gasUsed, { computationCost: costMist, storageCost: 0n });
          }),
        );
      } else response.end(await ask(asked));
    })();
  });
  const url = await listenLocally(server);
  const close = (): Promise<unknown> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url, close };
}

const VALID_PRICE = '1000';

function useValidPrice({ transaction }: GrpcTypes.SimulateTransactionRequest): void {
  const data = bcs.TransactionData.parse(transaction!.bcs!.value!);
  const { gasData } = data.V1!;
  if (gasData.price !== '0') gasData.price = VALID_PRICE;
  transaction!.bcs!.value = bcs.TransactionData.serialize(data).toBytes();
}

interface MessageType<T> {
  fromBinary(bytes: Uint8Array): T;
  toBinary(message: T): Uint8Array;
}

/** The first frame of a body, after its flag and length. An error answer has no such frame. */
function changeMessage<T>(
  body: Buffer,
  type: MessageType<T>,
  change: (message: T) => void,
): Buffer<ArrayBuffer> {
  if (body[0] !== 0) return Buffer.from(body);
  const end = 5 + body.readUInt32BE(1);
  const message = type.fromBinary(body.subarray(5, end));
  change(message);
  const bytes = type.toBinary(message);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes, body.subarray(end)]);
}
