// The few names of a browser that modules read when they are loaded.
const kept = new Map<string, string>();

Object.assign(globalThis, {
  window: globalThis,
  addEventListener: () => {},
  removeEventListener: () => {},
  location: new URL("http://127.0.0.1:7070/"),
  localStorage: {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  },
});

// Node knows no page against which an address could be relative.
const Whole = globalThis.Request;
globalThis.Request = class extends Whole {
  constructor(input: RequestInfo | URL, init?: RequestInit) {
    super(typeof input === "string" ? new URL(input, "http://127.0.0.1:7070/") : input, init);
  }
};

// A channel that is open keeps Node from ending.
Reflect.deleteProperty(globalThis, "BroadcastChannel");

export {};
