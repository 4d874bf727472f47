import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

/** A call of a client: `irn_publish`, `wc_proposeSession` and others. */
export interface RelayCall {
  /** Number of the connection, from 1. */
  readonly client: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface WalletConnectRelay {
  /** `ws://127.0.0.1:<port>` */
  readonly url: string;
  /** In the order of arrival, from all clients. */
  readonly calls: readonly RelayCall[];
  /** Clients whose connection is open. */
  connected(): number;
  /** Later calls get no answer. */
  fallSilent(): void;
  stop(): Promise<void>;
}

interface Id {
  readonly id: number;
}

interface Message {
  readonly topic: string;
  readonly message: string;
  readonly tag: number;
  readonly publishedAt: number;
}

/** Tags of messages: https://specs.walletconnect.com/2.0/specs/clients/sign/rpc-methods. */
const PROPOSAL = 1100;
const PROPOSAL_RESPONSE = 1101;
const SETTLEMENT = 1102;

/**
 * Relay of WalletConnect 2 on a free port, without authentication. It forwards messages by their topic, and keeps those
 * of a topic without another subscriber until one comes (https://specs.walletconnect.com/2.0/specs/servers/relay).
 */
export async function startWalletConnectRelay(): Promise<WalletConnectRelay> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await new Promise((resolve) => server.once('listening', resolve));
  const mailboxes = createMailboxes();
  const calls: RelayCall[] = [];
  let silent = false;
  let clients = 0;
  server.on('connection', (socket) => {
    const client = (clients += 1);
    socket.on('close', () => mailboxes.leave(socket));
    socket.on('message', (data: Buffer) => {
      const { id, method, params } = JSON.parse(data.toString()) as Omit<RelayCall, 'client'> & Id;
      if (method === undefined) return; // acknowledges a message
      calls.push({ client, method, params });
      if (silent) return;
      socket.send(JSON.stringify({ id, jsonrpc: '2.0', result: answer(mailboxes, socket, method, params) }));
    });
  });
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    connected: () => server.clients.size,
    fallSilent: () => void (silent = true),
    async stop() {
      for (const socket of server.clients) socket.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer(
  { publish, subscribe, unsubscribe }: Mailboxes,
  socket: WebSocket,
  method: string,
  params: Readonly<Record<string, unknown>>,
): unknown {
  const text = (name: string) => String(params[name]);
  const send = (topic: string, message: string, tag: number) =>
    publish(socket, { topic, message, tag, publishedAt: Date.now() });
  switch (method) {
    case 'irn_subscribe':
      return subscribe(socket, text('topic'));
    case 'irn_batchSubscribe':
      return (params['topics'] as string[]).map((topic) => subscribe(socket, topic));
    case 'irn_unsubscribe':
      return unsubscribe(socket, text('topic'));
    case 'irn_batchFetchMessages':
      return { messages: [], hasMore: false };
    case 'irn_publish':
      return send(text('topic'), text('message'), Number(params['tag']));
    case 'wc_proposeSession':
      subscribe(socket, text('pairingTopic'));
      return send(text('pairingTopic'), text('sessionProposal'), PROPOSAL);
    case 'wc_approveSession':
      subscribe(socket, text('sessionTopic'));
      send(text('pairingTopic'), text('sessionProposalResponse'), PROPOSAL_RESPONSE);
      return send(text('sessionTopic'), text('sessionSettlementRequest'), SETTLEMENT);
    default:
      throw new Error(`the relay has no ${method}`);
  }
}

type Mailboxes = ReturnType<typeof createMailboxes>;

function createMailboxes() {
  const subscribers = new Map<string, Set<WebSocket>>();
  const kept = new Map<string, { readonly from: WebSocket; readonly message: Message }[]>();
  let deliveries = 0;

  function deliver(socket: WebSocket, data: Message): void {
    deliveries += 1;
    const params = { id: data.topic, data };
    socket.send(JSON.stringify({ id: deliveries, jsonrpc: '2.0', method: 'irn_subscription', params }));
  }
  return {
    subscribe(socket: WebSocket, topic: string): string {
      subscribers.set(topic, (subscribers.get(topic) ?? new Set()).add(socket));
      const waiting = kept.get(topic) ?? [];
      kept.set(
        topic,
        waiting.filter(({ from }) => from === socket),
      );
      for (const { from, message } of waiting) if (from !== socket) deliver(socket, message);
      return topic;
    },
    unsubscribe(socket: WebSocket, topic: string): true {
      subscribers.get(topic)?.delete(socket);
      return true;
    },
    publish(from: WebSocket, message: Message): true {
      const others = [...(subscribers.get(message.topic) ?? [])].filter((socket) => socket !== from);
      for (const socket of others) deliver(socket, message);
      if (others.length === 0)
        kept.set(message.topic, [...(kept.get(message.topic) ?? []), { from, message }]);
      return true;
    },
    leave(socket: WebSocket): void {
      for (const sockets of subscribers.values()) sockets.delete(socket);
    },
  };
}
