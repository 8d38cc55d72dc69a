// A receiver as one would write it for one agent in Node.

/** What a payload says, or null when it is no JSON object. */
export function parse(bytes) {
  let body;
  try {
    body = JSON.parse(bytes.toString());
  } catch {
    return null;
  }
  if (body === null || typeof body !== "object" || Array.isArray(body)) return null;
  const bucket = body.bi || body.bucketID;
  const topic = body.to || body.topic;
  const scope = body.st || body.objectScopeType;
  const kind = bucket ? "pushToApp" : topic ? "pushToUser" : "directPush";
  return {
    kind,
    bucket,
    object: kind === "pushToApp" ? body.oi || body.objectID : undefined,
    topic: kind === "pushToUser" ? topic : undefined,
    event: body.t || body.type,
    sender: body.s || body.sender,
    app: body.sa || body.objectScopeAppID,
    scope,
    scopeID: scopeID(scope, body),
    when: body.w ?? body.when,
  };
}

function scopeID(scope, body) {
  switch (scope) {
    case "APP_AND_USER":
      return body.su || body.objectScopeUserID;
    case "APP_AND_GROUP":
      return body.sg || body.objectScopeGroupID;
    case "APP_AND_THING":
      return body.sth || body.objectScopeThingID;
    default:
      return undefined;
  }
}

/** The last 20,000 messages of 10 minutes; 5 seconds for those that are known by their bytes alone. */
class Seen {
  // A Map keeps the order in which keys came.
  #until = new Map();

  key(message, bytes) {
    const { app, scope, scopeID } = message;
    if (message.when !== undefined && message.kind === "pushToApp") {
      return `${app}|${scope}|${scopeID}|${message.bucket}|${message.object}|${message.event}|${message.when}`;
    }
    if (message.when !== undefined && message.kind === "pushToUser") {
      return `${app}|${scope}|${scopeID}|${message.topic}|${message.sender}|${message.when}|${bytes.toString()}`;
    }
    return bytes.toString();
  }

  has(key, now) {
    const until = this.#until.get(key);
    return until !== undefined && now < until;
  }

  remember(key, until) {
    this.#until.set(key, until);
    if (this.#until.size > 20_000) this.#until.delete(this.#until.keys().next().value);
  }
}

/** Messages of one object, or of one topic and sender, counted in windows of 10 seconds. */
class Rate {
  #counts = new Map();

  constructor(limit) {
    this.limit = limit;
  }

  passes(route, message, now) {
    const key = `${route}|${message.bucket}|${message.object}|${message.topic}|${message.sender}`;
    const entry = this.#counts.get(key);
    if (entry !== undefined && now < entry.start + 10_000) return ++entry.count <= this.limit;
    if (this.#counts.size >= 10_000) this.#forget(now);
    this.#counts.set(key, { start: now, count: 1 });
    return true;
  }

  #forget(now) {
    for (const [key, entry] of this.#counts) if (now >= entry.start + 10_000) this.#counts.delete(key);
  }
}

export class Receiver {
  #buckets = new Map();
  #topics = new Map();
  #direct;
  #routes = 0;
  #seen = new Seen();
  #rate;

  constructor(app, me, limit) {
    this.app = app;
    this.me = me;
    this.#rate = new Rate(limit);
  }

  onBucket(name, handler) {
    this.#buckets.set(name, { id: this.#routes++, handler });
  }

  onTopic(name, handler) {
    this.#topics.set(name, { id: this.#routes++, handler });
  }

  onDirectPush(handler) {
    this.#direct = { id: this.#routes++, handler };
  }

  receive(bytes) {
    const message = parse(bytes);
    if (message === null) return "undecodable";
    const route = this.#route(message);
    const now = performance.now();
    const key = this.#seen.key(message, bytes);
    const isWeak = message.kind === "directPush" || message.when === undefined;
    const until = now + (isWeak ? 5_000 : 600_000);
    if (this.#seen.has(key, now)) return "duplicate";
    if (message.sender === this.me) {
      this.#seen.remember(key, until);
      return "looped";
    }
    if (message.app !== undefined && message.app !== this.app) return "refused";
    if (!serves(message)) return "refused";
    if (route === undefined) return "unrouted";
    const outcome = this.#rate.passes(route.id, message, now) ? "handled" : "paced";
    if (outcome === "handled") route.handler(message);
    this.#seen.remember(key, until);
    return outcome;
  }

  #route(message) {
    switch (message.kind) {
      case "pushToApp":
        return this.#buckets.get(message.bucket);
      case "pushToUser":
        return this.#topics.get(message.topic);
      default:
        return this.#direct;
    }
  }
}

function serves(message) {
  switch (message.scope) {
    case undefined:
    case "APP":
      return true;
    case "APP_AND_USER":
      return message.scopeID !== undefined;
    default:
      return false;
  }
}
