import { SignClient } from '@walletconnect/sign-client';
import type { WalletConnectSettings } from '../../view/render-document.ts';

export type Client = Awaited<ReturnType<typeof SignClient.init>>;

export interface ClientRequest extends WalletConnectSettings {
  readonly shopName: string;
  /** The wallet shows it as the page that asks. */
  readonly pageOrigin: string;
}

let opened = 0;

/** A new client for each connection. It stores nothing in the browser, and contacts only the relay. */
export async function openClient(request: ClientRequest): Promise<Client> {
  const { projectId, relayUrl, shopName, pageOrigin } = request;
  opened += 1;
  const client = await SignClient.init({
    projectId,
    relayUrl,
    // The library keeps one Core per prefix in the global scope, and returns it again.
    customStoragePrefix: `opentill-${opened}`,
    storage: createMemoryStorage(),
    telemetryEnabled: false,
    logger: 'silent',
    metadata: { name: shopName, description: '', url: pageOrigin, icons: [] },
  });
  const { relayer, verify } = client.core;
  // The library would load a page of its makers into a frame, to have the page's address attested.
  verify.register = async () => '';
  // The library would name the method, the chain and the contract to the relay, next to the encrypted request.
  const { publish } = relayer.publisher;
  relayer.publisher.publish = async (topic, message, { tvf, ...options } = {}) => {
    const correlationId = tvf?.correlationId;
    await publish(
      topic,
      message,
      correlationId === undefined ? options : { ...options, tvf: { correlationId } },
    );
  };
  return client;
}

/** Closes the connection for good. The library would open it again for a retry, or when the network comes back. */
export async function closeClient({ core: { heartbeat, relayer } }: Client): Promise<void> {
  heartbeat.stop();
  relayer.transportOpen = async () => undefined;
  relayer.request = async () => new Promise(() => undefined);
  // An attempt to connect may be under way.
  relayer.on('relayer_connect', () => void relayer.transportClose());
  await relayer.transportClose();
}

/** A session ends with its payment, so a later visit needs none of it. */
function createMemoryStorage(): NonNullable<Parameters<typeof SignClient.init>[0]>['storage'] & object {
  const kept = new Map<string, unknown>();
  return {
    getKeys: async () => [...kept.keys()],
    getEntries: async <Value>() => [...kept.entries()] as [string, Value][],
    getItem: async <Value>(key: string) => kept.get(key) as Value | undefined,
    setItem: async (key, value) => void kept.set(key, value),
    removeItem: async (key) => void kept.delete(key),
  };
}
