// Makes the calls of a file with analytics-go: driver URL CALLS
package main

import (
	"encoding/json"
	"log"
	"os"
	"time"

	analytics "github.com/segmentio/analytics-go/v3"
)

type call struct {
	Type, UserId, AnonymousId, PreviousId, GroupId, Event, Category, Name string
	Properties                                                          analytics.Properties
	Traits                                                              analytics.Traits
	Context                                                             *analytics.Context
	Integrations                                                        analytics.Integrations
	Timestamp                                                           time.Time
}

type callback struct{}

func (callback) Success(analytics.Message)            {}
func (callback) Failure(_ analytics.Message, e error) { log.Fatal("The client reported an error: ", e) }

func main() {
	client, err := analytics.NewWithConfig("WK", analytics.Config{Endpoint: os.Args[1], BatchSize: 5, Callback: callback{}})
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	var calls []call
	if err := json.Unmarshal(text, &calls); err != nil {
		log.Fatal(err)
	}
	for _, c := range calls {
		if err := client.Enqueue(message(c)); err != nil {
			log.Fatal(err)
		}
	}
	if err := client.Close(); err != nil {
		log.Fatal(err)
	}
}

func message(c call) analytics.Message {
	switch c.Type {
	case "identify":
		return analytics.Identify{UserId: c.UserId, Traits: c.Traits, Timestamp: c.Timestamp}
	case "page":
		return analytics.Page{UserId: c.UserId, Name: c.Name, Properties: c.Properties, Timestamp: c.Timestamp}
	case "screen":
		return analytics.Screen{UserId: c.UserId, Name: c.Name, Properties: c.Properties, Timestamp: c.Timestamp}
	case "group":
		return analytics.Group{UserId: c.UserId, GroupId: c.GroupId, Traits: c.Traits, Timestamp: c.Timestamp}
	case "alias":
		return analytics.Alias{UserId: c.UserId, PreviousId: c.PreviousId, Timestamp: c.Timestamp}
	}
	return analytics.Track{UserId: c.UserId, Event: c.Event, Properties: c.Properties, Context: c.Context, Integrations: c.Integrations, Timestamp: c.Timestamp}
}
